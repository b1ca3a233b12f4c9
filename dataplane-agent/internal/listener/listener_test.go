package listener_test

import (
	"net/netip"
	"testing"

	"github.com/berth-proxy/berth/dataplane-agent/internal/listener"
)

func TestAServerThatIsHAProxyItselfIsKnown(t *testing.T) {
	all := listener.New(netip.Addr{}, 8080, 8443)
	one := listener.New(netip.MustParseAddr("127.0.0.9"), 8080, 8443)
	for _, test := range []struct {
		set    listener.Set
		server string
		want   bool
	}{
		{all, "127.0.0.1:8080", true},
		{all, "127.8.0.1:8443", true},
		{all, "[::1]:8443", true},
		{all, "127.0.0.1:9090", false},
		{all, "192.0.2.1:8080", false},
		{one, "127.0.0.9:8080", true},
		{one, "[::ffff:127.0.0.9]:8080", true},
		{one, "127.0.0.1:8080", false},
	} {
		if got := test.set.Contains(netip.MustParseAddrPort(test.server)); got != test.want {
			t.Errorf("%s: %v, want %v", test.server, got, test.want)
		}
	}
}
