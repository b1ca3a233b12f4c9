package desired

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// issued is a certificate with its key, as PEM.
type issued struct {
	cert      *x509.Certificate
	key       crypto.Signer
	crt, pkey []byte
}

// issue makes a certificate, self-signed where there is no parent.
func issue(t *testing.T, key crypto.Signer, parent *issued, from, until time.Time) *issued {
	t.Helper()
	name := "shop.example.com"
	if parent == nil {
		name = "root"
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: from, NotAfter: until,
		IsCA: parent == nil, BasicConstraintsValid: true,
	}
	signer, above := key, template
	if parent != nil {
		signer, above = parent.key, parent.cert
	}
	der, err := x509.CreateCertificate(rand.Reader, template, above, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{
		cert: cert, key: key,
		crt:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pkey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func tlsSecret(crt, key []byte) *corev1.Secret {
	return &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": crt, "tls.key": key}}
}

var (
	yesterday = time.Now().Add(-24 * time.Hour)
	tomorrow  = time.Now().Add(24 * time.Hour)
)

func TestCertificates(t *testing.T) {
	root := issue(t, ecKey(t), nil, yesterday, tomorrow)
	leaf := issue(t, ecKey(t), root, yesterday, tomorrow)
	other := issue(t, ecKey(t), root, yesterday, tomorrow)
	expired := issue(t, ecKey(t), root, yesterday.Add(-time.Hour), yesterday)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ed := issue(t, edKey, root, yesterday, tomorrow)
	t.Setenv("GODEBUG", "rsa1024min=0")
	weakKey, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	weak := issue(t, weakKey, root, yesterday, tomorrow)
	weakRoot := issue(t, weakKey, nil, yesterday, tomorrow)

	sec1, err := x509.MarshalECPrivateKey(leaf.key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	oldStyle := slices.Concat(
		pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}))
	chain := slices.Concat(leaf.crt, root.crt)
	wordy := slices.Concat([]byte("subject=/CN=shop\r\n"), leaf.crt, []byte("\nissuer:\n\n"), root.crt, []byte("the end"))
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	dekInfo := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: []byte("x")})
	opaque := tlsSecret(leaf.crt, leaf.pkey)
	opaque.Type = corev1.SecretTypeOpaque

	tests := []struct {
		rule   string
		secret *corev1.Secret
		want   string // the reason, empty where it is taken
	}{
		{"a chain with its key", tlsSecret(chain, leaf.pkey), ""},
		{"a key in the old style with its parameters", tlsSecret(chain, oldStyle), ""},
		{"words around the blocks", tlsSecret(wordy, leaf.pkey), ""},
		{"Ed25519", tlsSecret(ed.crt, ed.pkey), ""},
		{"an expired one is taken", tlsSecret(expired.crt, expired.pkey), ""},
		{"self-signed", tlsSecret(root.crt, root.pkey), ""},
		{"no secret", nil, "does not exist; create it"},
		{"another type", opaque, `is of type "Opaque"; it must be kubernetes.io/tls`},
		{"not PEM", tlsSecret([]byte("not a certificate"), leaf.pkey), "tls.crt that holds no PEM certificate"},
		{"an empty chain", tlsSecret(nil, leaf.pkey), "tls.crt that holds no PEM certificate"},
		{"a key where the chain should be", tlsSecret(leaf.pkey, leaf.pkey), "tls.crt that holds no PEM certificate"},
		{"a key that is not PEM", tlsSecret(leaf.crt, []byte("not a key")), "tls.key that holds no PEM private key"},
		{"no key", tlsSecret(leaf.crt, nil), "tls.key that holds no PEM private key"},
		{"another's key", tlsSecret(leaf.crt, other.pkey), "does not fit the first certificate"},
		{"the chain in the wrong order", tlsSecret(slices.Concat(root.crt, leaf.crt), leaf.pkey), "does not fit the first certificate"},
		{"an encrypted key", tlsSecret(leaf.crt, encrypted), "encrypted"},
		{"a key encrypted in the old style", tlsSecret(leaf.crt, dekInfo), "encrypted"},
		{"a certificate that is none", tlsSecret(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), leaf.pkey), "cannot be read"},
		{"a short RSA key", tlsSecret(weak.crt, weak.pkey), "RSA key of 1024 bits"},
		{"a short RSA key in the chain", tlsSecret(slices.Concat(leaf.crt, weakRoot.crt), leaf.pkey), "RSA key of 1024 bits"},
		{"more than the protocol carries", tlsSecret(bytes.Repeat(leaf.crt, maxPEM/len(leaf.crt)+1), leaf.pkey), "more than"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			cert, err := ParseCertificate(tt.secret)
			switch {
			case tt.want != "":
				if err == nil || cert != nil {
					t.Fatalf("it is taken, want: %s", tt.want)
				}
				holdsAll(t, "the reason", err.Error(), tt.want)
			case err != nil:
				t.Fatal(err)
			}
		})
	}

	plain, _ := ParseCertificate(tlsSecret(chain, leaf.pkey))
	noisy, _ := ParseCertificate(tlsSecret(wordy, leaf.pkey))
	if !bytes.Equal(plain.PEM, noisy.PEM) || plain.Content != noisy.Content || !bytes.Equal(plain.PEM, slices.Concat(chain, leaf.pkey)) {
		t.Error("chain and key do not come out in one normal form")
	}
	if !plain.NotAfter.Equal(leaf.cert.NotAfter) {
		t.Errorf("expires at %s, want the leaf's %s", plain.NotAfter, leaf.cert.NotAfter)
	}
}
