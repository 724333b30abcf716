package cli

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/doctor"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// maxSelfTest bounds the self-test.
const maxSelfTest = time.Minute

// runDoctor says whether numbers from this machine can be believed.
func runDoctor(e env, args []string) error {
	set := flag.NewFlagSet("doctor", flag.ContinueOnError)
	mode := set.String("mode", "spin", "judge numbers of a probe in this mode: spin, runtime or periodic")
	cpu := set.Int("cpu", -1, "judge this CPU (default the last one that is allowed)")
	target := set.Int("target", 0, "look at the process with this `PID` too")
	selfTest := set.Duration("self-test", doctor.DefaultSelfTest, "how long the self-test takes; 0 for none")
	asJSON := set.Bool("json", false, "print one JSON document")
	if err := parse(e, set, args); err != nil {
		return err
	}
	o := doctor.Options{Target: *target, SelfTest: *selfTest}
	var err error
	if o.Mode, err = jitterprobe.ParseMode(*mode); err != nil || o.Mode == jitterprobe.Auto {
		return wrong("--mode %q: want spin, runtime or periodic", *mode)
	}
	if given(set, "cpu") {
		if *cpu < 0 {
			return wrong("--cpu %d: want the number of a CPU", *cpu)
		}
		o.CPU = cpu
	}
	if *target < 0 {
		return wrong("--target %d: want the PID of a process", *target)
	}
	if *selfTest < 0 || *selfTest > maxSelfTest {
		return wrong("--self-test %v: want 0s to %v", *selfTest, maxSelfTest)
	}
	if *selfTest == 0 {
		o.SelfTest = -1
	}
	report, err := doctor.Run(o)
	if errors.Is(err, doctor.ErrTarget) {
		return wrongArgument{err}
	}
	if err != nil {
		return err
	}
	if *asJSON {
		err = printJSON(e, report)
	} else {
		err = report.Print(e.stdout, doctor.Layout{Colour: doctor.Colourful(e.stdout), Columns: textfmt.Columns(e.stdout)})
	}
	if failed := report.Failed(); err == nil && len(failed) > 0 {
		return unbelievable{fmt.Errorf("numbers from this machine cannot be believed: %s", strings.Join(failed, ", "))}
	}
	return err
}
