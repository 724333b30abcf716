package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
)

// TestTiersWithTLS: both tiers, as Kubernetes has them when nobody chose anything,
// hand spans on by the certificates of one CA. A gateway refuses an agent that shows
// none, and an agent does not send to a gateway whose certificate is another CA's.
func TestTiersWithTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newSecret(t), newSecret(t)
	b := newBackend(t)
	gateway := newSite(t, "")
	running := gateway.healthy(t, start(t, append(gateway.environment(),
		"OTELGC_TLS="+ours, "OTELGC_BACKEND="+b.addr, "OTELGC_BACKEND_INSECURE=true", "OTELGC_WAIT="+briefly.String()),
		programs(t).collector, "--config", gatewayConfig, "--config", configs+"gateway-tls.yaml"))

	// agent starts one, and sends a span of a service through it.
	agent := func(service string, env []string, more ...string) *process {
		n := &tiers{agent: newSite(t, ""), wait: briefly, clients: make(map[string]*grpc.ClientConn)}
		p := n.agent.healthy(t, start(t, append(append(n.agent.environment(),
			fmt.Sprintf("OTELGC_GATEWAYS={static: {hostnames: [%s]}}", gateway.grpc)), env...),
			programs(t).collector, append([]string{"--config", agentConfig}, more...)...))
		now := time.Now().UnixNano()
		n.sendOf(t, service, nil, []wallSpan{{now - 1e6, now}})
		return p
	}
	good := agent("ours", []string{"OTELGC_TLS=" + ours}, "--config", configs+"agent-tls.yaml")
	eventually(t, "the span of ours", func() error {
		if len(b.of("ours")) == 0 {
			return errors.New("it has not come")
		}
		return nil
	}, running, good)
	for service, a := range map[string]*process{
		"of another CA":     agent("of another CA", []string{"OTELGC_TLS=" + theirs}, "--config", configs+"agent-tls.yaml"),
		"in plaintext":      agent("in plaintext", []string{"OTELGC_GATEWAYS_INSECURE=true"}),
		"that nobody signs": agent("that nobody signs", nil), // believes the CAs of the machine
	} {
		eventually(t, "that a span "+service+" is not taken", func() error {
			if !strings.Contains(a.output(), "Exporting failed") {
				return errors.New("it has not said so")
			}
			return nil
		}, running, a)
		if n := len(b.of(service)); n > 0 {
			t.Errorf("%d spans %s have come", n, service)
		}
	}
}

// newSecret makes the files of the secret otelgc-tls, of a CA of its own.
func newSecret(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	write := func(name, kind string, der []byte, err error) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "otelgc-ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "otelgc-gateway"}, DNSNames: []string{"otelgc-gateway"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	caKey, leafKey := key(), key()
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	write("ca.crt", "CERTIFICATE", der, err)
	der, err = x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), caKey)
	write("tls.crt", "CERTIFICATE", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(leafKey)
	write("tls.key", "PRIVATE KEY", der, err)
	return dir
}
