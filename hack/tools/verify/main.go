// Command verify checks files that are maintained by hand: the PROJECT file against the CRDs, the Go packages and the controllers, and the
// versions of a CRD, which need no conversion, against each other. Its argument is the root of the repository. It prints each finding on
// its own line.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: verify ROOT")
		os.Exit(2)
	}
	findings, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(2)
	}
	for _, finding := range findings {
		fmt.Fprintln(os.Stderr, "verify:", finding)
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}

// project has the fields of a PROJECT file that can be checked.
type project struct {
	Version   string     `json:"version"`
	Repo      string     `json:"repo"`
	Resources []resource `json:"resources"`
}

type resource struct {
	API struct {
		CRDVersion string `json:"crdVersion"`
		Namespaced bool   `json:"namespaced"`
	} `json:"api"`
	Controller bool   `json:"controller"`
	Domain     string `json:"domain"`
	Group      string `json:"group"`
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	Version    string `json:"version"`
}

// crd has the fields of a CustomResourceDefinition that verify needs.
type crd struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Scope    string `json:"scope"`
		Versions []struct {
			Name   string         `json:"name"`
			Schema map[string]any `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// check returns the findings. The error means that a check was not possible.
func check(root string) ([]string, error) {
	var record project
	if err := read(filepath.Join(root, "PROJECT"), &record); err != nil {
		return nil, err
	}
	crds, err := readCRDs(root)
	if err != nil {
		return nil, err
	}
	controllers, err := controllerSources(root)
	if err != nil {
		return nil, err
	}
	var findings []string
	if record.Version != "3" {
		findings = append(findings, "PROJECT: version is not 3")
	}
	recorded := map[string]string{}
	for _, r := range record.Resources {
		recorded[identity(r.Group+"."+r.Domain, r.Version, r.Kind)] = scope(r.API.Namespaced)
		findings = append(findings, checkPath(root, record.Repo, r)...)
		if r.Controller && !controls(controllers, r.Kind) {
			findings = append(findings, fmt.Sprintf("PROJECT: %s has no controller: no */internal/controller reconciles it", r.Kind))
		}
	}
	generated := map[string]string{}
	for _, c := range crds {
		for _, v := range c.Spec.Versions {
			generated[identity(c.Spec.Group, v.Name, c.Spec.Names.Kind)] = c.Spec.Scope
		}
		findings = append(findings, checkVersionsAgree(c)...)
	}
	return append(findings, compare(recorded, generated)...), nil
}

func identity(group, version, kind string) string { return group + "/" + version + " " + kind }

func scope(namespaced bool) string {
	if namespaced {
		return "Namespaced"
	}
	return "Cluster"
}

// compare compares PROJECT's kinds with those of the CRDs, in both directions.
func compare(recorded, generated map[string]string) []string {
	var findings []string
	for _, id := range slices.Sorted(maps.Keys(recorded)) {
		switch scope, found := generated[id]; {
		case !found:
			findings = append(findings, "PROJECT: "+id+" is not in config/crd/bases")
		case scope != recorded[id]:
			findings = append(findings, fmt.Sprintf("PROJECT: %s is %s, and %s in config/crd/bases", id, recorded[id], scope))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(generated)) {
		if _, found := recorded[id]; !found {
			findings = append(findings, "PROJECT: "+id+" is missing, it is in config/crd/bases")
		}
	}
	return findings
}

// checkPath checks that there is a Go type at the import path in PROJECT.
func checkPath(root, repo string, r resource) []string {
	folder, inside := strings.CutPrefix(r.Path, repo+"/")
	if !inside {
		return []string{fmt.Sprintf("PROJECT: %s is outside of %s", r.Path, repo)}
	}
	declaration := regexp.MustCompile(`(?m)^type ` + regexp.QuoteMeta(r.Kind) + ` struct`)
	if !anyMatch(goFiles(filepath.Join(root, folder)), declaration) {
		return []string{fmt.Sprintf("PROJECT: %s declares no type %s", r.Path, r.Kind)}
	}
	return nil
}

// checkVersionsAgree compares the schemas of a CRD's versions. The conversion strategy is None, which requires equal schemas.
func checkVersionsAgree(c crd) []string {
	var findings []string
	for _, v := range c.Spec.Versions[1:] {
		if !reflect.DeepEqual(v.Schema, c.Spec.Versions[0].Schema) {
			findings = append(findings, fmt.Sprintf("config/crd/bases: the schemas of %s %s and %s differ, and nothing converts between them",
				c.Spec.Names.Kind, c.Spec.Versions[0].Name, v.Name))
		}
	}
	return findings
}

func readCRDs(root string) ([]crd, error) {
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("config/crd/bases is empty")
	}
	crds := make([]crd, len(files))
	for i, file := range files {
		if err := read(file, &crds[i]); err != nil {
			return nil, err
		}
	}
	return crds, nil
}

// controllerSources returns the Go files of all operators' controllers.
func controllerSources(root string) ([]string, error) {
	return filepath.Glob(filepath.Join(root, "*", "internal", "controller", "*.go"))
}

// controls reports whether one of the files builds a controller for the kind.
func controls(files []string, kind string) bool {
	return anyMatch(files, regexp.MustCompile(`\bFor\(\s*&\w+\.`+regexp.QuoteMeta(kind)+`\{\}`)) ||
		anyMatch(files, regexp.MustCompile(`source\.Kind\([^)]*&\w+\.`+regexp.QuoteMeta(kind)+`\{\}`))
}

func goFiles(folder string) []string {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil // a malformed pattern: nothing can match
	}
	return files
}

func anyMatch(files []string, pattern *regexp.Regexp) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		if strings.HasSuffix(file, "_test.go") {
			return false
		}
		text, err := os.ReadFile(file)
		return err == nil && pattern.Match(text)
	})
}

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
