package compile

import (
	"github.com/berth-proxy/berth/controlplane/internal/desired"
)

// secret is a Secret that some Ingress names.
type secret struct {
	// cert is the last accepted certificate, nil where it never was good.
	cert *desired.Certificate
	// err says why the Secret as it stands is not accepted.
	err error
}

// judge reads a Secret. One that was edited into something unusable leaves the last accepted certificate in force (P10); one that is not there has none.
func (c *Compiler) judge(p *pass, ref desired.Ref) *secret {
	obj := p.read.Secret(ref.Cluster, ref.Namespace, ref.Name)
	s := &secret{}
	s.cert, s.err = desired.ParseCertificate(obj)
	if last := c.secrets[ref]; s.err != nil && obj != nil && last != nil {
		s.cert = last.cert
	}
	c.secrets[ref] = s
	return s
}

func (c *Compiler) takeSecret(p *pass, ref desired.Ref) {
	if c.secrets[ref] == nil {
		return // nobody names it
	}
	c.judge(p, ref)
	for _, f := range c.fleets {
		f.secretChanged(ref)
	}
	p.touched = append(p.touched, ref)
}

// forgetSecrets lets go of what no Ingress names any longer: keys are not kept for their own sake.
func (c *Compiler) forgetSecrets(p *pass) {
	for _, ref := range p.touched {
		if !c.named(ref) {
			delete(c.secrets, ref)
		}
	}
}

func (c *Compiler) named(ref desired.Ref) bool {
	for _, f := range c.fleets {
		if len(f.bySecret[ref]) > 0 {
			return true
		}
	}
	return false
}
