package haproxy

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The seeds of the fuzz targets are answers of both versions, as they came: see testdata/fuzz. Here is what must be read from answers like them.

const twoWorkers = `#<PID>          <type>          <reloads>       <uptime>        <version>      
10790           master          2 [failed: 1]   1d02h03m04s     3.4.7-1        
# workers
# old workers
10803           worker          1               0d00h00m09s     3.4.7-1        
10796           worker          2               0d00h01m00s     3.4.7-1        

`

func TestParseProcesses(t *testing.T) {
	t.Parallel()
	p, err := ParseProcesses(twoWorkers)
	if err != nil || p.Master != 10790 || p.Reloads != 2 || p.Failed != 1 || len(p.Workers) != 0 || !slices.Equal(p.Old, []int{10803, 10796}) {
		t.Fatalf("%+v, %v", p, err)
	}
	if want := (ProcessRow{10790, "master", false, 2, 26*time.Hour + 3*time.Minute + 4*time.Second, "3.4.7-1"}); p.Rows[0] != want {
		t.Errorf("%+v, want %+v", p.Rows[0], want)
	}
	if pid, ok := p.Current(); !ok || pid != 10803 || p.Leaving() != 1 {
		t.Errorf("after a failed reload the youngest goes on: %d, %v, %d leaving", pid, ok, p.Leaving())
	}
	p, err = ParseProcesses(strings.Replace(twoWorkers, "# workers\n", "# workers\n10811           worker          0               0d00h00m01s     3.4.7-1        \n", 1))
	if pid, ok := p.Current(); err != nil || !ok || pid != 10811 || p.Leaving() != 2 {
		t.Errorf("%+v, %v: current %d, %v, %d leaving", p, err, pid, ok, p.Leaving())
	}
	for _, text := range []string{
		"", "\n\n", "Can't connect to the target CLI!\n\n", strings.TrimSpace(twoWorkers), strings.ReplaceAll(twoWorkers, "10790", "x"),
		strings.ReplaceAll(twoWorkers, "1d02h", "1d99h"), strings.ReplaceAll(twoWorkers, "[failed: 1]", "[failed: x]"), strings.ReplaceAll(twoWorkers, "10803 ", "-1 "),
	} {
		if p, err := ParseProcesses(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.60q: %+v, %v", text, p, err)
		}
	}
	// The list of a 2.6 ends with programs, which are no workers.
	p, err = ParseProcesses(strings.TrimSuffix(twoWorkers, "\n") + "# programs\n77   aggregator  0  0d00h00m01s -\n# old programs\n78 aggregator 1 0d00h00m01s -\n\n")
	if err != nil || len(p.Workers)+len(p.Old) != 2 || len(p.Rows) != 5 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestParseLog(t *testing.T) {
	t.Parallel()
	alerts, warnings := ParseLog(`[NOTICE]   (2483) : haproxy version is 3.4.7-1
[ALERT]    (2483) : config : parsing [c/bad.cfg:14] : unknown keyword 'foo' in 'backend' section
[WARNING]  (2434) : config : missing timeouts for frontend 'f'.
   | While not properly invalid, you will certainly encounter various problems
   | with such a configuration.
[ALERT]    (2483) : Binding [old/haproxy.cfg:24] for frontend ff: cannot bind socket (Address already in use) for [127.0.0.1:18555]
[ALERT]    (2483) : config : Fatal errors found in configuration.
`)
	want := []Fault{
		{"c/bad.cfg", 14, "parsing [c/bad.cfg:14] : unknown keyword 'foo' in 'backend' section"},
		{"old/haproxy.cfg", 24, "Binding [old/haproxy.cfg:24] for frontend ff: cannot bind socket (Address already in use) for [127.0.0.1:18555]"},
		{"", 0, "Fatal errors found in configuration."},
	}
	if !slices.Equal(alerts, want) {
		t.Errorf("alerts:\n%q\nwant\n%q", alerts, want)
	}
	if len(warnings) != 1 || !strings.HasSuffix(warnings[0].Text, "various problems with such a configuration.") {
		t.Errorf("warnings: %q", warnings)
	}
}

// The same fault reads the same each time, whatever the process number, so that a remembered rejection is recognised.
func TestJudgeLogIsStable(t *testing.T) {
	t.Parallel()
	a, b := judgeLog("[ALERT]    (1) : config : parsing [x:1] : no\n"), judgeLog("[NOTICE]   (7) : hi\n[ALERT]    (2222) : config : parsing [x:1] : no\n")
	if a.Error() != b.Error() || !errors.Is(a, ErrRejected) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestParseMapEntry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, key, value string
		found            bool
	}{
		{`type=beg, case=sensitive, found=yes, idx=tree, key="/q", value=""x"y,", type="str"` + "\n", "/q", `"x"y,`, true},
		{`type=beg, case=sensitive, found=yes, idx=tree, key="/q", value="v", type="str"` + "\n", "/qq", "", false},
		{`type=beg, case=sensitive, found=yes, idx=tree, key=""k"", value="v", type="str"` + "\n", `"k"`, "v", true},
		{`type=beg, case=sensitive, found=no` + "\n", "k", "", false},
		{"Unknown map identifier. Please use #<id> or <file>.\n", "k", "", false},
		{"", "", "", false},
	} {
		if value, found := ParseMapEntry(c.text, c.key); value != c.value || found != c.found {
			t.Errorf("%q: %q, %v", c.text, value, found)
		}
	}
}

// chunks is a connection that gives a text in pieces.
type chunks struct {
	net.Conn
	rest string
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.rest == "" {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, c.rest[:min(len(c.rest), c.size)])
	c.rest = c.rest[n:]
	return n, nil
}

func readChunks(text string, size int, commands []Command) ([]Reply, []byte, error) {
	r := &Runtime{conn: &chunks{rest: text, size: size}}
	replies, err := r.read(commands)
	return replies, r.buf, err
}

// HAPROXY-2: however the bytes come, the answers are the same, and no byte is lost or counted twice.
func FuzzReplies(f *testing.F) {
	f.Add("a\n\n> \n> b", byte(2))
	f.Fuzz(func(t *testing.T, text string, n byte) {
		commands := make([]Command, n)
		for i := range commands {
			if i%3 == 1 {
				commands[i].Payload = []string{"x"}
			}
		}
		want, _, wantErr := readChunks(text, 1<<20, commands)
		for _, size := range []int{1, 2, 7} {
			got, _, err := readChunks(text, size, commands)
			if len(got) > len(commands) || (err == nil) != (wantErr == nil) && !errors.Is(wantErr, ErrMalformed) {
				t.Fatalf("by %d bytes: %d answers, %v; at once %d, %v", size, len(got), err, len(want), wantErr)
			}
			for i := range got {
				if got[i].Text != want[i].Text {
					t.Fatalf("by %d bytes: answer %d is %q, at once %q", size, i, got[i].Text, want[i].Text)
				}
			}
		}
		if wantErr == nil && strings.Count(text, prompt) < int(n) {
			t.Fatalf("%d answers out of %d prompts", n, strings.Count(text, prompt))
		}
	})
}

// A table that was cut off or damaged is an error, never a table with a server that is otherwise or not there.
func FuzzServersState(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		servers, err := ParseServersState(text)
		if err != nil {
			return
		}
		for _, s := range servers {
			if s.Name == "" || s.Backend == "" || s.ID < 0 || s.Weight < 0 {
				t.Fatalf("%+v", s)
			}
		}
		for cut := len(text) - 1; cut > max(0, len(text)-200); cut-- {
			fewer, err := ParseServersState(text[:cut])
			if err == nil && (len(fewer) > len(servers) || !slices.Equal(fewer, servers[:len(fewer)])) {
				t.Fatalf("cut at %d: %+v of %+v", cut, fewer, servers)
			}
			if err == nil && text[cut-1] != '\n' {
				t.Fatalf("cut in a line at %d: accepted", cut)
			}
		}
	})
}

// An answer that was cut off is an error, never one with fewer columns; a list that lacks rows at its end is what it is.
func FuzzStats(f *testing.F) {
	f.Add("# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,status,\nweb,FRONTEND,,,0,0,9979,0,0,OPEN,\n")
	f.Fuzz(func(t *testing.T, text string) {
		stats, err := ParseStats(text)
		if err != nil {
			return
		}
		for _, s := range stats {
			if s.Limit < 0 || strings.ContainsAny(s.Proxy+s.Name+s.Status, ",\n") {
				t.Fatalf("%+v", s)
			}
		}
		for cut := len(text) - 1; cut > max(0, len(text)-200); cut-- {
			fewer, err := ParseStats(text[:cut])
			if err == nil && (len(fewer) > len(stats) || !slices.Equal(fewer, stats[:len(fewer)])) {
				t.Fatalf("cut at %d: %+v of %+v", cut, fewer, stats)
			}
		}
	})
}

func FuzzInfo(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		if info, err := ParseInfo(text); err == nil && (info.PID <= 0 || !strings.Contains(text, "Stopping")) {
			t.Fatalf("%+v", info)
		}
	})
}

func FuzzMap(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := ParseMap(text)
		if err == nil && len(entries) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d entries of %q", len(entries), text)
		}
	})
}

func FuzzMapEntry(f *testing.F) {
	f.Fuzz(func(t *testing.T, text, key string) {
		if value, found := ParseMapEntry(text, key); found && !strings.Contains(text, `key="`+key+`", value="`+value+`"`) {
			t.Fatalf("%q of %q", value, text)
		}
	})
}

// A list that was cut off is an error: a worker that is not listed would be taken for gone.
func FuzzProcesses(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProcesses(text)
		if err != nil {
			return
		}
		pid, ok := p.Current()
		if p.Master <= 0 || ok != (len(p.Workers)+len(p.Old) > 0) || ok && !p.lists(pid) || p.Leaving() < 0 || p.Leaving() > len(p.Old) {
			t.Fatalf("%+v: current %d, %v", p, pid, ok)
		}
	})
}

func FuzzLog(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		alerts, warnings := ParseLog(text)
		if len(alerts)+len(warnings) > strings.Count(text, "[") {
			t.Fatalf("%d alerts and %d warnings of %q", len(alerts), len(warnings), text)
		}
		if err := judgeLog(text); err == nil || len(err.Error()) > maxAlerts+200 {
			t.Fatalf("%v", err)
		}
	})
}

func FuzzStat(f *testing.F) {
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = parseStat(text)
	})
}

// What HAProxy refuses is never taken for done, whatever else it says, and any answer is either.
func FuzzJudge(f *testing.F) {
	f.Fuzz(func(t *testing.T, text, command string) {
		err := judge(command, text)
		if strings.HasPrefix(text, "No such ") && !errors.Is(err, ErrNoSuchBackend) && !errors.Is(err, ErrNoSuchServer) && strings.HasPrefix(command, "set server ") {
			if err == nil {
				t.Fatalf("%q to %q is taken for done", text, command)
			}
		}
		if err != nil && strings.TrimSpace(text) == "" {
			t.Fatalf("an empty answer: %v", err)
		}
	})
}

// What is sent of a command that is valid is one command for HAProxy: one line, or a line, a payload and an empty line.
func FuzzCommand(f *testing.F) {
	f.Add("add map m", "k", "v")
	f.Add("set server", "a;b", "c\\")
	f.Fuzz(func(t *testing.T, line, word, payload string) {
		for _, c := range []Command{{Line: line}, {Line: line, Payload: []string{payload}}, Words("show", word), Words("show", word, payload)} {
			if c.valid() != nil {
				continue
			}
			text := string(c.append(nil))
			if len(text) != c.Size() || len(text) > max(MaxLine, MaxPayload) || strings.Count(text, "\n") != 1+len(c.Payload)+min(1, len(c.Payload)) {
				t.Fatalf("%+v is sent as %q", c, text)
			}
			if first, _, _ := strings.Cut(text, "\n"); len(c.Payload) == 0 && (strings.HasSuffix(first, "<<") || !single(first)) {
				t.Fatalf("%+v is sent as %q", c, text)
			}
		}
	})
}
