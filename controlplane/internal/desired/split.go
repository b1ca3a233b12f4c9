package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Parts is how many equal parts the requests of a path are cut into where several services share them.
const Parts = 100

// The most services that share a path, and the largest weight of one.
const (
	maxShares = 8
	maxWeight = 1000000
)

// Weight is what a service gets of the requests, in proportion to the others' weights.
type Weight struct {
	Service string
	Weight  int
}

// Split says that several backends share the requests of a route.
type Split struct {
	// Name is the same for all routes of a host that are split in one way, and no backend's.
	Name   string
	Shares []Share
}

// Share is a backend with its parts, of which there are Parts in all.
type Share struct {
	Backend Backend
	Parts   int
}

// Equal compares what splits say; either may be nil.
func (s *Split) Equal(other *Split) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Name == other.Name && slices.Equal(s.Shares, other.Shares)
}

// Equal compares what routes say.
func (r Route) Equal(other Route) bool {
	split, otherSplit := r.Split, other.Split
	r.Split, other.Split = nil, nil
	return r == other && split.Equal(otherSplit)
}

// readWeights reads "SERVICE=WEIGHT, SERVICE=WEIGHT…".
func readWeights(into *Annotations, value string) error {
	var weights []Weight
	total := 0
	for item := range strings.SplitSeq(value, ",") {
		service, number, _ := strings.Cut(strings.Trim(item, " "), "=")
		weight, err := strconv.Atoi(number)
		if len(validation.IsDNS1035Label(service)) > 0 || err != nil || weight < 0 || weight > maxWeight || number != strconv.Itoa(weight) {
			return fmt.Errorf("must be services with weights from 0 to %d, such as web=90, web-canary=10", maxWeight)
		}
		if slices.ContainsFunc(weights, func(w Weight) bool { return w.Service == service }) {
			return fmt.Errorf("names the service %s twice", service)
		}
		weights = append(weights, Weight{service, weight})
		total += weight
	}
	if len(weights) < 2 || len(weights) > maxShares || total == 0 {
		return fmt.Errorf("must name from 2 to %d services, one of them at least with a weight above 0", maxShares)
	}
	into.Weights = weights
	return nil
}

// parts gives each weight its parts by the largest remainders. Whoever has a weight has one part at least, so that a small canary is asked at all; those who have the most
// give it.
func parts(weights []Weight) []int {
	total := 0
	for _, w := range weights {
		total += w.Weight
	}
	out, order, left := make([]int, len(weights)), make([]int, len(weights)), Parts
	for i, w := range weights {
		order[i] = i
		out[i] = w.Weight * Parts / total
		if out[i] == 0 && w.Weight > 0 {
			out[i] = 1
		}
		left -= out[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return weights[b].Weight*Parts%total - weights[a].Weight*Parts%total })
	for i := 0; left > 0; i++ {
		if n := order[i%len(order)]; out[n] > 0 {
			out[n]++
			left--
		}
	}
	for ; left < 0; left++ {
		most := 0
		for i := range out {
			if out[i] > out[most] {
				most = i
			}
		}
		out[most]--
	}
	return out
}

// lead says where a target leads, and where several share the requests, how; the backend is the first of them then.
func (c *claimer) lead(host string, t Target, place string) (Backend, *Split) {
	weights := c.ing.Weights
	if len(weights) == 0 || t.Fault != "" || t.Service != weights[0].Service {
		return c.backend(t, place), nil
	}
	c.weighed = true
	s := &Split{Name: splitName(c.ing.Ref, host, t)}
	for i, n := range parts(weights) {
		if n == 0 {
			continue
		}
		t.Service = weights[i].Service
		s.Shares = append(s.Shares, Share{c.backend(t, fmt.Sprintf("a share of host %q", host)), n})
	}
	if len(s.Shares) == 1 {
		return s.Shares[0].Backend, nil
	}
	return s.Shares[0].Backend, s
}

// SplitPrefix begins the name of every split.
const SplitPrefix = "split."

// splitName is that of a host, so that what becomes of another host of the same Ingress does not touch its entries.
func splitName(ing Ref, host string, t Target) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{ing.Cluster, ing.Namespace, ing.Name, host, t.Service, t.Port, strconv.Itoa(int(t.Number))}, "\x00")))
	return SplitPrefix + hex.EncodeToString(sum[:8])
}
