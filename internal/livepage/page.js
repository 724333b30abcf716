// Keeps the sections up to date, but for those in which something is opened.
'use strict';
const state = document.getElementById('state');
const again = 2000; // milliseconds until the next attempt where the browser makes none

function listen() {
  const events = new EventSource('events');
  events.onmessage = (event) => {
    state.textContent = '';
    for (const [id, text] of Object.entries(JSON.parse(event.data))) {
      const section = document.getElementById(id);
      const active = document.activeElement;
      if (section && !section.querySelector('details[open]') && (active.matches('table') || !section.contains(active))) {
        update(section, text);
      }
    }
  };
  events.onerror = () => {
    state.textContent = 'No answer: what is shown is old. The page tries again.';
    if (events.readyState === EventSource.CLOSED) { // after an answer that is none of ours
      setTimeout(listen, again);
    }
  };
}

// update replaces a section, and leaves its tables where they were scrolled to, and the
// focus on the one that had it.
function update(section, text) {
  const tables = () => [...section.querySelectorAll('table')];
  const at = tables().map((table) => table.scrollLeft);
  const focused = tables().indexOf(document.activeElement);
  section.innerHTML = text;
  tables().forEach((table, i) => {
    table.scrollLeft = at[i] || 0;
    if (i === focused) {
      table.focus({preventScroll: true});
    }
  });
}

listen();
