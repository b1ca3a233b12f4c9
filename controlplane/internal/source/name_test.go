package source

import (
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
)

func TestCheckName(t *testing.T) {
	for name, fine := range map[string]bool{
		"east": true, "East-1.example": true, "7": true, strings.Repeat("x", MaxName): true,
		"": false, strings.Repeat("x", MaxName+1): false, "a_b": false, "a b": false, "a:b": false, "a,b": false, "a/b": false, "é": false, "a\nb": false, ".": false, "..": false, ".a": false, "-a": false,
	} {
		if err := CheckName(name); (err == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The longest name of everything is still one that a backend can have.
func TestTheLongestNameFitsABackend(t *testing.T) {
	label := strings.Repeat("x", 63)
	name := strings.Repeat("x", MaxName) + "." + strings.Join([]string{label, label, label, "01234567"}, "_")
	if err := snapshot.CheckName(name); err != nil || len(name) != snapshot.MaxName {
		t.Errorf("%d bytes: %v", len(name), err)
	}
}
