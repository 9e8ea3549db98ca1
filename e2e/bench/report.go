package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Figure is one measurement. Floor and Ratio are zero where there is no floor.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Floor float64 `json:"floor,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
}

// Report collects figures.
type Report struct {
	progress io.Writer
	figures  []Figure
}

func (r *Report) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.progress, format+"\n", args...)
}

func (r *Report) add(name string, value float64, unit string) {
	r.figures = append(r.figures, Figure{Name: name, Value: value, Unit: unit})
	r.logf("  %s: %.4g %s", name, value, unit)
}

func (r *Report) addBeside(name string, value, floor float64, unit string) {
	r.figures = append(r.figures, Figure{Name: name, Value: value, Unit: unit, Floor: floor, Ratio: value / floor})
	r.logf("  %s: %.4g %s, floor %.4g, ratio %.2f", name, value, unit, floor, value/floor)
}

// Table writes the figures as a table.
func (r *Report) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "FIGURE\tVALUE\tUNIT\tFLOOR\tRATIO")
	for _, f := range r.figures {
		floor, ratio := "", ""
		if f.Floor != 0 {
			floor, ratio = fmt.Sprintf("%.4g", f.Floor), fmt.Sprintf("%.2f", f.Ratio)
		}
		_, _ = fmt.Fprintf(t, "%s\t%.4g\t%s\t%s\t%s\n", f.Name, f.Value, f.Unit, floor, ratio)
	}
	return t.Flush()
}

// JSON writes one object per line.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	for _, f := range r.figures {
		if err := e.Encode(f); err != nil {
			return err
		}
	}
	return nil
}
