package gouprobe

import (
	"fmt"
	"os"
	"strconv"

	"github.com/otelgc/otelgc/stall"
)

// pidVariable names the process that a child attaches to.
const pidVariable = "OTELGC_GOUPROBE_PID"

// attachOnly attaches and says so. In the role stay it then waits to be killed.
func attachOnly() {
	pid, err := strconv.Atoi(os.Getenv(pidVariable))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := stall.NewClock()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = Attach(Options{PID: pid, Clock: c})
	fmt.Println(err)
	if err == nil && os.Getenv(roleVariable) == "stay" {
		select {}
	}
}
