// Package providers finds the network provider that the settings name.
package providers

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/external"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/loadbalancer"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/mcs"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/nodeport"
)

// programPrefix is the prefix of the names of providers' programs.
const programPrefix = "network-provider-"

// builtIn are the providers that need no program.
func builtIn() map[string]network.Factory {
	return map[string]network.Factory{nodeport.Name: nodeport.New, loadbalancer.Name: loadbalancer.New, mcs.Name: mcs.New}
}

// aliases maps other names of the built-in providers, in lower case, to theirs. Source: the class names in the proposal of stretch clusters
// for Strimzi, and the short names in its prototype.
func aliases() map[string]string {
	return map[string]string{
		"nodeportnetworkingprovider":     nodeport.Name,
		"loadbalancernetworkingprovider": loadbalancer.Name,
		"load-balancer":                  loadbalancer.Name,
		"lb":                             loadbalancer.Name,
		"mcsnetworkingprovider":          mcs.Name,
		"multicluster":                   mcs.Name,
	}
}

// Options name a provider.
type Options struct {
	// Name is that of a built-in provider, the class name that Strimzi's users give for it, or that of a program:
	// STRIMZI_STRETCH_PLUGIN_CLASS_NAME.
	Name string
	// Path lists files, and folders followed by /*, with colons between, where programs are looked for: STRIMZI_STRETCH_PLUGIN_CLASS_PATH.
	Path string
	// Settings are the provider's.
	Settings map[string]string
	// Operator is this operator's version.
	Operator string
	// Stderr gets what a program writes to its standard error.
	Stderr io.Writer
}

// Open returns the provider, and a function that closes it. A program takes precedence over a built-in provider of the same name.
func Open(ctx context.Context, o Options) (network.Provider, func(), error) {
	programs, err := find(o.Path)
	if err != nil {
		return nil, nil, err
	}
	var provider network.Provider
	end := func() {}
	name := canonical(o.Name)
	switch factory, known := builtIn()[name]; {
	case programs[o.Name] != "":
		program, err := external.Start(ctx, external.Options{Path: programs[o.Name], Settings: o.Settings, Stderr: o.Stderr,
			Check: func(about network.Info) error { return checkProgram(about, o) }})
		if err != nil {
			return nil, nil, err
		}
		provider, end = program, program.Close
	case known:
		if provider, err = factory(o.Settings); err != nil {
			return nil, nil, fmt.Errorf("network provider %s: %w", name, err)
		}
	default:
		return nil, nil, fmt.Errorf("unknown network provider %q: %s are built in, and %s in %s", o.Name,
			strings.Join(slices.Sorted(maps.Keys(builtIn())), ", "), found(programs), o.Path)
	}
	about, err := provider.Info(ctx)
	if err == nil {
		err = about.Check(o.Operator)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return provider, end, nil
}

// checkProgram returns an error if a program does not fit this operator, or says that it is another provider than the settings name: by the
// name, a Kafka's record tells that its addresses are another provider's.
func checkProgram(about network.Info, o Options) error {
	if err := about.Check(o.Operator); err != nil {
		return err
	}
	if about.Name != o.Name {
		return fmt.Errorf("program %s%s says that it is the network provider %s: name it %s%s, and set STRIMZI_STRETCH_PLUGIN_CLASS_NAME to %s",
			programPrefix, o.Name, about.Name, programPrefix, about.Name, about.Name)
	}
	return nil
}

// canonical returns the name of a built-in provider for one of its other names; the package of a class does not matter.
func canonical(name string) string {
	class := strings.ToLower(name[strings.LastIndex(name, ".")+1:])
	if alias, known := aliases()[class]; known {
		return alias
	}
	return class
}

func found(programs map[string]string) string {
	if len(programs) == 0 {
		return "no program " + programPrefix + "... was found"
	}
	return "the programs for " + strings.Join(slices.Sorted(maps.Keys(programs)), ", ") + " were found"
}

// find returns the programs of providers by the providers' names. The first one of a name counts.
func find(path string) (map[string]string, error) {
	programs := map[string]string{}
	for _, entry := range filepath.SplitList(path) {
		matches, err := filepath.Glob(entry)
		if err != nil {
			return nil, fmt.Errorf("path %q of network providers: %w", entry, err)
		}
		for _, file := range matches {
			name, ok := strings.CutPrefix(filepath.Base(file), programPrefix)
			info, err := os.Stat(file)
			if !ok || err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
				continue
			}
			if programs[name] == "" {
				programs[name] = file
			}
		}
	}
	return programs, nil
}
