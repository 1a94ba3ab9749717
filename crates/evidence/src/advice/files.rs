//! Files of rules that are part of the program.

macro_rules! built_in {
    ($($id:literal)*) => {
        /// Files of the program, by name.
        pub(super) const BUILT_IN: &[(&str, &str)] = &[$((
            concat!($id, ".toml"),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/rules/", $id, ".toml")),
        ),)*];
    };
}

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
