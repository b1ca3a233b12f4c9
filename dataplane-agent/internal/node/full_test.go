package node

import (
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
	"github.com/berth-proxy/berth/dataplane-agent/internal/journal"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A disk that stays full is tried less and less often, and at once when the journal has found that it takes something again.
func TestAFullDiskIsTriedLessAndLess(t *testing.T) {
	held := journal.Empty()
	n := &Node{cfg: Config{}.withDefaults(), log: zerolog.Nop(), box: report.New(), held: held, loaded: held.Revision}
	n.reload.spacing = n.cfg.ReloadSpacing
	full := taskResult{err: disk.ErrWrite, code: fleetv1.Code_CODE_DISK}
	now := time.Now()
	for _, want := range []int{2, 4, 8, 16, 30, 30} {
		n.filesWritten(now, &task{}, full)
		due := n.filesBehind.Add(n.cfg.RefreshFiles).Sub(now)
		if due.Seconds() != float64(want) {
			t.Errorf("the next try is after %s, want %d s", due, want)
		}
		if told := n.box.Take().Failed; want == 2 && told.GetCode() != fleetv1.Code_CODE_DISK || want == 4 && told != nil {
			t.Errorf("before the try after %d s it is told %v", want, told)
		}
	}
	n.fail(aboutReload, fleetv1.Code_CODE_DISK, errors.New("full"), n.reload.failed(now, slowest))
	n.diskMended(now)
	if n.filesBehind.Add(n.cfg.RefreshFiles).After(now) || !n.reload.ready(now) {
		t.Error("it is not tried at once when the disk takes something again")
	}
	n.filesWritten(now, &task{}, taskResult{})
	n.filesWritten(now, &task{}, full)
	if due := n.filesBehind.Add(n.cfg.RefreshFiles).Sub(now); due != n.cfg.RefreshFiles {
		t.Errorf("after a try that was good the next is after %s", due)
	}
}
