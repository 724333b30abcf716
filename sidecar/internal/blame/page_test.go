package blame

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestPage holds docs/reference.md to the document: every field of it is named there.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fields(reflect.TypeFor[Document]()) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/reference.md does not name the field %s", name)
		}
	}
	if !strings.Contains(string(page), "`"+Schema+"`") {
		t.Errorf("docs/reference.md does not name the schema %s", Schema)
	}
}

// fields returns the names in JSON of the fields of t and of what they hold.
func fields(t reflect.Type) (names []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "schema" && name != "-" {
			names = append(names, name)
		}
		names = append(names, fields(f.Type)...)
	}
	return names
}
