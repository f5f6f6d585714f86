// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026, the federated.flower authors

// Renders manifests as Open Cluster Management's operators do: ocm VALUES FILE... with the values in JSON.
// Prints the objects as one list in JSON; files that render to nothing are left out.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := render(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func render(text string, files []string) error {
	var values map[string]any
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return fmt.Errorf("the values: %w", err)
	}
	objects := []map[string]any{}
	for _, file := range files {
		made, err := template.New(filepath.Base(file)).ParseFiles(file)
		if err != nil {
			return err
		}
		var out strings.Builder
		if err := made.Execute(&out, values); err != nil {
			return err
		}
		var object map[string]any
		if err := yaml.Unmarshal([]byte(out.String()), &object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(objects)
}
