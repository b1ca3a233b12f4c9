package rig

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A series is one line of a page of metrics.
type series struct {
	labels string
	value  float64
}

// scrape reads the series of one name.
func scrape(address, name string) ([]series, error) {
	client := http.Client{Timeout: askTime, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read metric %s: %w", name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var found []series
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		end := strings.LastIndexByte(lines.Text(), ' ')
		if end < 0 {
			continue
		}
		base, labels, _ := strings.Cut(lines.Text()[:end], "{")
		if base != name {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[end+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("read metric %s: %w", name, err)
		}
		found = append(found, series{strings.TrimSuffix(labels, "}"), value})
	}
	return found, lines.Err()
}

func (s series) has(labels []string) bool {
	return !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(s.labels, l) })
}

// Metric sums the series of a metric at HOST:PORT/metrics whose labels contain all of the given texts, such as reason="slots".
func Metric(address, name string, labels ...string) (float64, error) {
	found, err := scrape(address, name)
	sum := 0.0
	for _, s := range found {
		if s.has(labels) {
			sum += s.value
		}
	}
	return sum, err
}

// Quantile is the upper bound of the bucket of a histogram in which a quantile lies, in the metric's unit, and how many observations there are. It is
// infinite beyond the last bucket.
func Quantile(address, name string, q float64, labels ...string) (bound float64, count float64, err error) {
	found, err := scrape(address, name+"_bucket")
	if err != nil {
		return 0, 0, err
	}
	type bucket struct{ bound, count float64 }
	var buckets []bucket
	for _, s := range found {
		_, le, ok := strings.Cut(s.labels, `le="`)
		le, _, _ = strings.Cut(le, `"`)
		bound, err := strconv.ParseFloat(le, 64)
		if !ok || err != nil || !s.has(labels) {
			continue
		}
		if i := slices.IndexFunc(buckets, func(b bucket) bool { return b.bound == bound }); i >= 0 {
			buckets[i].count += s.value
		} else {
			buckets = append(buckets, bucket{bound, s.value})
		}
	}
	slices.SortFunc(buckets, func(a, b bucket) int {
		if a.bound < b.bound {
			return -1
		}
		return 1
	})
	if len(buckets) == 0 {
		return 0, 0, nil
	}
	count = buckets[len(buckets)-1].count
	for _, b := range buckets {
		if b.count >= q*count {
			return b.bound, count, nil
		}
	}
	return 0, count, nil
}
