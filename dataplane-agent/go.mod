module github.com/berth-proxy/berth/dataplane-agent

go 1.26.0

replace github.com/berth-proxy/berth/api => ../api

replace github.com/berth-proxy/berth/proto => ../proto
