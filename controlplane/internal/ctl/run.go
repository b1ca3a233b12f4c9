package ctl

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/flagenv"
	"github.com/berth-proxy/berth/api/transport"
)

// Invocation is what a run gets from the process that it is in.
type Invocation struct {
	// Args are the arguments without the program's name.
	Args     []string
	Out, Err io.Writer
	// LookupEnv is os.LookupEnv.
	LookupEnv func(string) (string, bool)
	Version   string
}

// Run does what the arguments say and returns the exit code. It ends early when ctx does.
func Run(ctx context.Context, in Invocation) int {
	r := &run{Invocation: in}
	err := r.root().ExecuteContext(ctx)
	if err == nil {
		return done
	}
	code, text := judge(err)
	if text != "" {
		_, _ = fmt.Fprintln(in.Err, "berthctl:", text) // there is nowhere else to say it
	}
	return code
}

// run is one run with its flags.
type run struct {
	Invocation
	admin, fleet, output string
	tls                  transport.Files
}

func (r *run) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "berthctl",
		Short: "Shows and explains what the control plane does, and gives it an operator's word",
		Long: "berthctl asks a control plane what it wants of HAProxy and why, and what the nodes have. render and explain also work without one, on a\n" +
			"directory of Kubernetes YAML.\n\n" +
			"Each flag can be given as the environment variable in brackets; the flag wins.\n" +
			"Exit codes: 0 done (also when objects were rejected), 1 it could not be done, or a source cannot be read whole, 2 wrong usage,\n" +
			"3 a check found a difference.",
		Version:       r.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := flagenv.Apply(cmd.Flags(), r.LookupEnv); err != nil {
				return wrongUsage(err)
			}
			return nil
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused("give a command; berthctl --help lists them")
		}
		similar := ""
		if s := root.SuggestionsFor(args[0]); len(s) > 0 {
			similar = "did you mean " + strings.Join(s, " or ") + "? "
		}
		return misused("there is no command %q; %sberthctl --help lists them", args[0], similar)
	}
	root.RunE = func(*cobra.Command, []string) error { return nil } // Args has refused everything
	root.SetArgs(r.Args)
	root.SetOut(r.Out)
	root.SetErr(r.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misused("%w; %s --help lists the flags", err, cmd.CommandPath())
	})
	f := root.PersistentFlags()
	f.StringVar(&r.admin, "admin-address", "127.0.0.1:7801", "the control plane's admin address, HOST:PORT")
	f.StringVar(&r.fleet, "fleet", "", "fleet to look at (default: the fleet default, or the only one there is; status, nodes and watch: all)")
	f.StringVarP(&r.output, "output", "o", "", "table or json; for render haproxy or json (default: table; for render json)")
	f.StringVar(&r.tls.Cert, "tls-cert", "", "certificate to show (PEM), for an admin address that is not loopback")
	f.StringVar(&r.tls.Key, "tls-key", "", "key of --tls-cert (PEM)")
	f.StringVar(&r.tls.CA, "tls-ca", "", "CA that the control plane's certificate is checked against (PEM)")
	root.AddCommand(
		r.statusCommand(), r.nodesCommand(), r.backendsCommand(), r.slotsCommand(), r.objectsCommand(), r.sourcesCommand(),
		r.explainCommand(), r.renderCommand(), r.diffCommand(), r.watchCommand(),
	)
	flagenv.Describe(f)
	for _, c := range root.Commands() {
		flagenv.Describe(c.Flags())
	}
	return root
}

// The values of -o.
const (
	asTable   = "table"
	asJSON    = "json"
	asHAProxy = "haproxy"
)

// format is the value of -o, which has to be one of those given; the first stands for none.
func (r *run) format(possible ...string) (string, error) {
	if r.output == "" {
		return possible[0], nil
	}
	if !slices.Contains(possible, r.output) {
		return "", misused("-o %s: give %s", r.output, strings.Join(possible, " or "))
	}
	return r.output, nil
}

// print writes to standard output.
func (r *run) print(text []byte) error {
	if _, err := r.Out.Write(text); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// show prints an answer in the format: the message for programs, the page for people.
func (r *run) show(format string, m proto.Message, text *page) error {
	if format == asJSON {
		return r.printMessage(m)
	}
	return r.print(text.Bytes())
}

// question makes of cmd a command that asks the plane for one thing and shows it.
func (r *run) question(cmd *cobra.Command, ask func(*plane) (proto.Message, *page, error)) *cobra.Command {
	cmd.Args = none
	return r.questionAbout(cmd, func(p *plane, _ []string) (proto.Message, *page, error) { return ask(p) })
}

// questionAbout is question for a command with arguments, whose Args checks them.
func (r *run) questionAbout(cmd *cobra.Command, ask func(p *plane, args []string) (proto.Message, *page, error)) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := r.format(asTable, asJSON)
		if err != nil {
			return err
		}
		return r.ask(cmd.Context(), func(p *plane) error {
			m, text, err := ask(p, args)
			if err != nil {
				return err
			}
			return r.show(format, m, text)
		})
	}
	return cmd
}

// none is for commands that take no arguments, one for those that take exactly what name says.
func none(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misused("%q is one argument too many", args[0])
	}
	return nil
}

func one(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return misused("give %s: %s", name, usage(cmd))
		case len(args) > 1:
			return misused("%q is one argument too many: %s", args[1], usage(cmd))
		}
		return nil
	}
}

// usage is how a command is typed.
func usage(cmd *cobra.Command) string {
	if cmd.Parent() == nil {
		return cmd.Use
	}
	return cmd.Parent().CommandPath() + " " + cmd.Use
}

// chooseFleet is the fleet that a command is about, of those that there are.
func (r *run) chooseFleet(names []string) (string, error) {
	switch {
	case r.fleet != "" && slices.Contains(names, r.fleet):
		return r.fleet, nil
	case r.fleet != "":
		return "", fmt.Errorf("there is no fleet %q; there %s", r.fleet, listed(names))
	case slices.Contains(names, defaultFleet):
		return defaultFleet, nil
	case len(names) == 1:
		return names[0], nil
	}
	return "", fmt.Errorf("there is no fleet %q; there %s: give one with --fleet", defaultFleet, listed(names))
}

const defaultFleet = "default"

func listed(names []string) string {
	switch len(names) {
	case 0:
		return "is none yet"
	case 1:
		return "is " + names[0]
	default:
		return "are " + strings.Join(names, ", ")
	}
}
