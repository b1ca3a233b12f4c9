package transport_test

import (
	"errors"
	"testing"

	"github.com/berth-proxy/berth/api/transport"
)

func TestTRANSPORT1_PlainTextStaysOnTheMachine(t *testing.T) {
	for address, plain := range map[string]bool{
		"127.0.0.1:7800": true, "[::1]:7800": true, "localhost:7800": true, "127.8.9.1:1": true,
		"0.0.0.0:7800": false, ":7800": false, "10.0.0.1:7800": false, "example.com:7800": false, "[::]:7800": false, "127.0.0.1": false,
	} {
		_, err := transport.Files{}.Server(address)
		if plain != (err == nil) {
			t.Errorf("%s: %v", address, err)
		}
		if !plain && !errors.Is(err, transport.ErrPlainText) {
			t.Errorf("%s: the error %v does not say what to give", address, err)
		}
		if _, err := (transport.Files{}).Client("127.0.0.1:1", address); plain != (err == nil) {
			t.Errorf("dial %s: %v", address, err)
		}
	}
}

func TestSomeOfTheCertificatesAreNotEnough(t *testing.T) {
	if _, err := (transport.Files{Cert: "a"}).Server("127.0.0.1:1"); err == nil {
		t.Error("a certificate without key and CA was taken")
	}
}
