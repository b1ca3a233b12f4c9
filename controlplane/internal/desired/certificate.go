package desired

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berth-proxy/berth/api/snapshot"
)

// Certificate is a chain with its key that HAProxy can load.
type Certificate struct {
	// PEM is the chain, leaf first, and then the key, without anything that stood around them.
	PEM     []byte
	Content snapshot.Digest
	// NotBefore and NotAfter are the leaf's.
	NotBefore, NotAfter time.Time
	// Names are the leaf's DNS names, which clients go by; they do not look at its subject.
	Names []string
}

// ValidFor says whether clients take the certificate for a host, which may be a wildcard.
func (c *Certificate) ValidFor(host string) bool {
	return slices.ContainsFunc(c.Names, func(name string) bool { return Covers(strings.ToLower(name), host) })
}

const (
	minRSABits = 2048
	// maxPEM is the protocol's limit.
	maxPEM = 1 << 20
)

// ParseCertificate reads a secret of type kubernetes.io/tls; obj is nil where there is no secret. It refuses what OpenSSL at its usual
// security level refuses, because one certificate that HAProxy cannot load would keep the whole configuration from being loaded.
func ParseCertificate(obj *corev1.Secret) (*Certificate, error) {
	if obj == nil {
		return nil, errors.New("does not exist; create it")
	}
	if obj.Type != corev1.SecretTypeTLS {
		return nil, fmt.Errorf("is of type %q; it must be %s", clip(string(obj.Type)), corev1.SecretTypeTLS)
	}
	chain, err := parseChain(obj.Data[corev1.TLSCertKey])
	if err != nil {
		return nil, err
	}
	key, err := parseKey(obj.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("has a tls.key that does not fit the first certificate of tls.crt: %s", strings.TrimPrefix(err.Error(), "tls: "))
	}
	text := append(chain, key...)
	if len(text) > maxPEM {
		return nil, fmt.Errorf("holds more than %d bytes", maxPEM)
	}
	leaf := pair.Leaf
	if leaf == nil {
		if leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("has a tls.crt that cannot be read: %w", err)
		}
	}
	return &Certificate{PEM: text, Content: snapshot.PEMDigest(text), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, Names: leaf.DNSNames}, nil
}

func parseChain(data []byte) ([]byte, error) {
	var out bytes.Buffer
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("has a tls.crt with a certificate that cannot be read: %w", err)
		}
		if err := strongEnough(cert); err != nil {
			return nil, err
		}
		_ = pem.Encode(&out, &pem.Block{Type: block.Type, Bytes: block.Bytes}) // a bytes.Buffer takes everything
	}
	if out.Len() == 0 {
		return nil, errors.New("has a tls.crt that holds no PEM certificate")
	}
	return out.Bytes(), nil
}

// strongEnough holds a certificate of the chain to OpenSSL's security level 2, which Debian's HAProxy starts with (tried on 2.6 and 3.4).
func strongEnough(cert *x509.Certificate) error {
	if key, ok := cert.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < minRSABits {
		return fmt.Errorf("has a certificate (%s) with an RSA key of %d bits; HAProxy takes %d at least", clip(cert.Subject.String()), key.N.BitLen(), minRSABits)
	}
	if bytes.Equal(cert.RawIssuer, cert.RawSubject) {
		return nil // nobody looks at the signature of a self-signed one
	}
	switch cert.SignatureAlgorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return fmt.Errorf("has a certificate (%s) signed with %s, which HAProxy refuses", clip(cert.Subject.String()), cert.SignatureAlgorithm)
	}
	return nil
}

func parseKey(data []byte) ([]byte, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "PRIVATE KEY" && !strings.HasSuffix(block.Type, " PRIVATE KEY") {
			continue
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return nil, errors.New("has a tls.key that is encrypted; nobody could type its password")
		}
		return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}), nil
	}
	return nil, errors.New("has a tls.key that holds no PEM private key")
}
