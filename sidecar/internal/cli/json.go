package cli

import (
	"encoding/json"
	"fmt"
)

// printJSON prints the one document of a verb.
func printJSON(e env, document any) error {
	out := json.NewEncoder(e.stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(document); err != nil {
		return fmt.Errorf("print document: %w", err)
	}
	return nil
}
