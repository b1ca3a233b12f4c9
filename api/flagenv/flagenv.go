// Package flagenv lets every flag of a command be given as an environment variable too: --node-address as BERTH_NODE_ADDRESS. The flag wins.
package flagenv

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Prefix begins the name of every variable.
const Prefix = "BERTH_"

// Name is the variable of a flag.
func Name(flag string) string { return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// Apply sets the flags that were not given from the variables that are. A repeatable flag takes a list with commas. lookup is os.LookupEnv.
func Apply(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := lookup(Name(f.Name))
		if f.Changed || !ok || f.Name == "help" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", Name(f.Name), err))
		}
	})
	return errors.Join(errs...)
}

// Describe adds the variable's name to the usage of every flag.
func Describe(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !strings.Contains(f.Usage, Prefix) {
			f.Usage += " [" + Name(f.Name) + "]"
		}
	})
}
