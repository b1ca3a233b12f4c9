package compile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"
)

// pairs are certificates with their keys, made once. The last is the one of a node.
var pairs = sync.OnceValue(func() (list [3][2]string) {
	for i := range list {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		name := []string{"test 0", "test 1", "default"}[i]
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"*.example.com"}}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			panic(err)
		}
		pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			panic(err)
		}
		list[i] = [2]string{
			base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
			base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
		}
	}
	return list
})

// secretYAML writes a Secret with one of two certificates.
func secretYAML(name string, i int) string {
	p := pairs()[i]
	return fmt.Sprintf("---\n{apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: %s, namespace: shop}, data: {tls.crt: %s, tls.key: %s}}\n", name, p[0], p[1])
}

// defaultPEM is the certificate that a node shows when no other fits.
func defaultPEM() string {
	var b strings.Builder
	for _, part := range pairs()[2] {
		text, err := base64.StdEncoding.DecodeString(part)
		if err != nil {
			panic(err)
		}
		b.Write(text)
	}
	return b.String()
}
