//! Files of rules that are part of the program.

use super::book::built_in;

built_in! {
    "glibc"
    "go"
    "hotspot"
    "jemalloc"
    "mariadb"
    "memcached"
    "mongodb"
    "nginx"
    "oceanbase"
    "openj9"
    "oracle"
    "postgresql"
    "redis"
    "sap-hana"
    "tcmalloc"
}
