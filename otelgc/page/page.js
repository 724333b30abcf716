// Keeps the sections up to date, but for those in which something is opened.
'use strict';
const state = document.getElementById('state');
const events = new EventSource('events');
events.onmessage = (event) => {
  state.textContent = '';
  for (const [id, text] of Object.entries(JSON.parse(event.data))) {
    const section = document.getElementById(id);
    if (section && !section.querySelector('details[open]') && !section.contains(document.activeElement)) {
      section.innerHTML = text;
    }
  }
};
events.onerror = () => {
  state.textContent = 'The service does not answer; the page tries again.';
};
