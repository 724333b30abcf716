package blame

import (
	"github.com/otelgc/otelgc/sidecar/internal/page"
)

// shares returns the table of bands: who had the time of each row. If it gets
// wider than page.Width, the stalls with the least time share a column.
func (j *Judgement) shares() *page.Table {
	all := j.sum(func(*Row) bool { return true })
	var shown []*party
	folded := map[*party]bool{}
	for i := range parties {
		if parties[i].of(&all.Share) > 0 {
			shown = append(shown, &parties[i])
		}
	}
	for {
		g := j.table(shown, folded)
		if g.Width() <= page.Width {
			return g
		}
		var least *party
		for _, p := range shown {
			if !p.rest && !folded[p] && (least == nil || p.of(&all.Share) < least.of(&all.Share)) {
				least = p
			}
		}
		if least == nil {
			return g
		}
		folded[least] = true
	}
}

func (j *Judgement) table(shown []*party, folded map[*party]bool) *page.Table {
	g := &page.Table{}
	top := []string{"", "fide-", "", "", "cover-"}
	head := []string{"latency", "lity", "requests", "time", "age %"}
	for _, p := range shown {
		if !folded[p] {
			top, head = append(top, p.top), append(head, p.head)
		}
	}
	if len(folded) > 0 {
		top, head = append(top, "other"), append(head, "stalls")
	}
	g.Row(top...)
	g.Row(head...)
	for i := range j.Rows {
		g.Row(j.Rows[i].cells(shown, folded)...)
	}
	return g
}

func (row *Row) cells(shown []*party, folded map[*party]bool) []string {
	cells := []string{
		bandTitles[row.Band], row.Fidelity.String(), page.Count(row.Requests),
		page.Length(row.Share.Total), cell(row.Coverage()),
	}
	other := 0.0
	for _, p := range shown {
		f := row.Of(p.of(&row.Share))
		if folded[p] {
			other += f
			continue
		}
		cells = append(cells, cell(f))
	}
	if len(folded) > 0 {
		cells = append(cells, cell(other))
	}
	return cells
}
