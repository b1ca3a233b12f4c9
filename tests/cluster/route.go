package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/berth-proxy/berth/tests/cluster/manifest"
)

// IngressClass is the class of every route, the one that a fleet serves by default.
const IngressClass = "berth"

// A Route is an Ingress with one rule of one path, to the first port of a deployment's service.
type Route struct {
	Namespace   string
	Name        string
	Host        string
	Path        string // "/" when empty
	PathType    string // Prefix when empty
	Service     string
	Port        int // 80 when zero
	TLSSecret   string
	Class       string // IngressClass when empty
	Annotations map[string]string
}

// AddRoute writes a route, or writes over it.
func (c *Cluster) AddRoute(r Route) error { return c.Put(r.Ingress()) }

// RemoveRoute deletes a route.
func (c *Cluster) RemoveRoute(r Route) error { return c.Delete(r.Ingress().ID()) }

// Ingress is the object of a route.
func (r Route) Ingress() manifest.Ingress {
	o := manifest.Ingress{
		Metadata: manifest.Meta{Name: r.Name, Namespace: r.Namespace, Annotations: r.Annotations},
		Spec: manifest.IngressSpec{
			IngressClassName: orElse(r.Class, IngressClass),
			Rules: []manifest.IngressRule{{Host: r.Host, HTTP: manifest.IngressHTTP{Paths: []manifest.IngressPath{{
				Path:     orElse(r.Path, "/"),
				PathType: orElse(r.PathType, "Prefix"),
				Backend: manifest.IngressBackend{Service: manifest.IngressService{
					Name: r.Service, Port: manifest.IngressPort{Number: orElse(r.Port, defaultPort)},
				}},
			}}}}},
		},
	}
	if r.TLSSecret != "" {
		o.Spec.TLS = []manifest.IngressTLS{{Hosts: []string{r.Host}, SecretName: r.TLSSecret}}
	}
	return o
}

// Certificate makes a TLS Secret with a new self-signed certificate for some hosts.
func Certificate(namespace, name string, hosts ...string) (manifest.Secret, error) {
	none := manifest.Secret{}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return none, fmt.Errorf("make a key for Secret %s/%s: %w", namespace, name, err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     hosts,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return none, fmt.Errorf("make a certificate for Secret %s/%s: %w", namespace, name, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return none, fmt.Errorf("encode the key for Secret %s/%s: %w", namespace, name, err)
	}
	return manifest.Secret{
		Metadata: manifest.Meta{Namespace: namespace, Name: name},
		Type:     "kubernetes.io/tls",
		StringData: map[string]string{
			"tls.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
			"tls.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
		},
	}, nil
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
