package stallconnector

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// Config is the configuration of the connector.
type Config struct {
	attribution.Config `mapstructure:",squash"`
	// MetricsInterval is the time between two exports of the sums.
	MetricsInterval time.Duration `mapstructure:"metrics_interval"`
	// WaitForResult makes those who send spans wait until they were handed on,
	// and gives them the result, so that what is held here is theirs to keep:
	// spans come out at least once, whatever happens to this Collector.
	WaitForResult bool `mapstructure:"wait_for_result"`

	_ struct{}
}

var _ component.Config = (*Config)(nil)

func createDefaultConfig() component.Config {
	return &Config{Config: attribution.Default(), MetricsInterval: 15 * time.Second}
}

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	err := c.Config.Validate()
	if c.MetricsInterval <= 0 {
		err = errors.Join(err, fmt.Errorf("metrics_interval %v: want more than 0s", c.MetricsInterval))
	}
	return err
}
