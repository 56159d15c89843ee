package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// schemas writes the JSON schemas of Kubernetes in the form that kubeconform reads, from the description of its API
// (swagger.json): one file with all definitions, and one for each kind. Members that are not described are refused.
func schemas(swagger, out string) error {
	text, err := os.ReadFile(swagger)
	if err != nil {
		return err
	}
	var api struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(text, &api); err != nil {
		return fmt.Errorf("%s: %w", swagger, err)
	}
	files := map[string]any{"definitions.json": api}
	for name, d := range api.Definitions {
		if _, ok := d["properties"]; ok {
			d["additionalProperties"] = false
		}
		if d["format"] == "int-or-string" || strings.HasSuffix(name, ".resource.Quantity") {
			d["type"] = []string{"string", "number"}
			delete(d, "format")
		}
		kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			kind, _ := k.(map[string]any)
			group, _, _ := strings.Cut(fmt.Sprint(kind["group"]), ".")
			file := strings.ToLower(fmt.Sprint(kind["kind"])) + strings.TrimSuffix("-"+group, "-") + "-" + fmt.Sprint(kind["version"]) + ".json"
			files[file] = map[string]string{"$ref": "definitions.json#/definitions/" + name}
		}
	}
	if len(files) == 1 {
		return fmt.Errorf("%s describes no kind", swagger)
	}
	for name, content := range files {
		text, err := json.Marshal(content)
		if err == nil {
			err = write(filepath.Join(out, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
