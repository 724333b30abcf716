package blame

import (
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// shares returns the table of bands: who had the time of each row. If it gets wider
// than so many columns, those that have little in every row share one; what was unseen
// never does.
func (j *Judgement) shares(columns int) *textfmt.Table {
	all := j.sum(func(*Row) bool { return true })
	var shown []*party
	folded := map[*party]bool{}
	for i := range parties {
		if parties[i].of(&all) > 0 {
			shown = append(shown, &parties[i])
		}
	}
	for {
		g := j.table(shown, folded)
		if g.Width() <= columns {
			return g
		}
		var least *party
		for _, p := range shown {
			if p.head != "seen" && !folded[p] && (least == nil || j.peak(p) < j.peak(least)) {
				least = p
			}
		}
		if least == nil {
			return g
		}
		folded[least] = true
	}
}

// peak returns the most that p has of the time of a row.
func (j *Judgement) peak(p *party) (most float64) {
	for i := range j.Rows {
		row := &j.Rows[i]
		most = max(most, row.Of(p.of(&row.Tally)))
	}
	return most
}

func (j *Judgement) table(shown []*party, folded map[*party]bool) *textfmt.Table {
	g := &textfmt.Table{}
	top := []string{"", "fide-", "", "", "cover-"}
	head := []string{"latency", "lity", "requests", "time", "age %"}
	for _, p := range shown {
		if !folded[p] {
			top, head = append(top, p.top), append(head, p.head)
		}
	}
	if len(folded) > 0 {
		top, head = append(top, ""), append(head, "other")
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
		bandTitles[row.Band], row.Fidelity.String(), textfmt.Count(row.Requests),
		textfmt.Length(row.Share.Total), cell(row.Coverage()),
	}
	other := 0.0
	for _, p := range shown {
		f := row.Of(p.of(&row.Tally))
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
