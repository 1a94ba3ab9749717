//! Functions of Go programs by which it is known what a goroutine does: of the standard library
//! (Go 1.12 to 1.25) and of common clients.

use super::known::Pool;

/// Pools of connections. A goroutine that waits for one stands in `select`.
pub(super) const GO_POOLS: &[Pool] = &[
    Pool {
        name: "database/sql",
        borrows: &["database/sql.(*DB).conn"],
        own: "database/sql.",
        uses: &["database/sql.(*DB)", "database/sql.(*Tx)", "database/sql.(*Stmt)"],
    },
    Pool {
        name: "pgxpool",
        borrows: &["github.com/jackc/puddle"],
        own: "github.com/jackc/puddle",
        uses: &["github.com/jackc/pgx/v5/pgxpool.", "github.com/jackc/pgx/v4/pgxpool."],
    },
    Pool {
        name: "go-redis",
        borrows: &[
            "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn",
            "github.com/go-redis/redis/v8/internal/pool.(*ConnPool).waitTurn",
        ],
        own: "github.com/",
        uses: &["github.com/redis/go-redis/", "github.com/go-redis/redis/"],
    },
];

/// Clients of services.
pub(super) const GO_SERVICES: &[(&str, &str)] = &[
    ("github.com/lib/pq.", "PostgreSQL"),
    ("github.com/jackc/pg", "PostgreSQL"),
    ("github.com/go-sql-driver/mysql.", "MySQL"),
    ("github.com/microsoft/go-mssqldb", "SQL Server"),
    ("github.com/denisenkom/go-mssqldb", "SQL Server"),
    ("github.com/sijms/go-ora", "Oracle Database"),
    ("github.com/redis/go-redis/", "Redis"),
    ("github.com/go-redis/redis/", "Redis"),
    ("github.com/gomodule/redigo/", "Redis"),
    ("go.mongodb.org/mongo-driver/", "MongoDB"),
    ("github.com/gocql/gocql.", "Cassandra"),
    ("github.com/bradfitz/gomemcache/", "memcached"),
    ("google.golang.org/grpc.(*ClientConn).", "gRPC"),
    ("google.golang.org/grpc.(*clientStream).", "gRPC"),
    ("net/http.(*persistConn).roundTrip", "an HTTP service"),
    ("net/http.(*http2ClientConn).", "an HTTP service"),
    ("net.(*Resolver).", "DNS"),
];

/// A goroutine with one of these serves a request.
pub(super) const GO_REQUESTS: &[&str] = &[
    "net/http.HandlerFunc.ServeHTTP",
    "net/http.serverHandler.ServeHTTP",
    "net/http.(*ServeMux).ServeHTTP",
    "google.golang.org/grpc.(*Server).process",
    "github.com/valyala/fasthttp.(*Server).serveConn",
    "net/rpc.(*service).call",
];

/// Functions of the runtime and the standard library, which do not tell where a program is.
pub(super) const GO_LIBRARIES: &[&str] = &[
    "runtime.",
    "internal/",
    "sync.",
    "syscall.",
    "time.",
    "os.",
    "io.",
    "bufio.",
    "net.",
    "net/",
    "context.",
    "crypto/",
    "encoding/",
    "database/sql.",
    "reflect.",
    "golang.org/x/",
    "google.golang.org/",
    "github.com/lib/pq.",
    "github.com/jackc/",
    "github.com/go-sql-driver/",
    "github.com/redis/",
    "github.com/go-redis/",
    "go.mongodb.org/",
];
