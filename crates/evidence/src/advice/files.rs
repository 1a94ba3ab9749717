//! Files of rules that are part of the program.

use super::book::built_in;

built_in! {
    "aerospike" "arangodb" "avf" "aws-graviton" "azul-zing" "campfire" "cassandra" "clickhouse"
    "cloudberry" "cloudera" "cockroachdb" "couchbase" "couchbase-analytics" "directory-server"
    "doris" "dotnet" "dragonfly" "dse" "elasticsearch" "euleros" "glibc" "go" "gperftools" "grace"
    "haproxy" "hazelcast" "hotspot" "influxdb" "jemalloc" "kafka" "kubevirt" "kudu" "mariadb"
    "memcached" "mimalloc" "minio" "mongodb" "mysql" "neo4j" "nginx" "nodejs" "numpy" "oceanbase"
    "openj9" "opensearch" "openshift-z" "oracle" "postgresql" "python" "pytorch" "qdrant"
    "questdb" "rabbitmq" "redis" "redis-enterprise" "redpanda" "ruby" "sap-hana" "satellite"
    "scylladb" "splunk" "sql-server" "starrocks" "tcmalloc" "tidb" "tokudb" "tuned" "valkey"
    "varnish" "vertica" "victoriametrics" "wiredtiger" "yugabytedb" "zgc"
}
