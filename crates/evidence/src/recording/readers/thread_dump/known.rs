//! Methods by which it is known what a thread does. The names are those of the programs' own
//! sources, of the versions named; a prefix covers a class or package.

/// A pool of connections: where threads wait to borrow one, and by which methods one is in use.
pub(super) struct Pool {
    /// Its name in sentences.
    pub(super) name: &'static str,
    /// Methods in which a thread waits for a connection.
    pub(super) borrows: &'static [&'static str],
    /// Packages that stand above those while it waits, beside Java's own.
    pub(super) own: &'static str,
    /// What a thread calls that uses a connection.
    pub(super) uses: &'static [&'static str],
}

/// Drivers and what wraps them: a thread inside of one uses a connection to a database.
const JDBC: &[&str] = &[
    "org.postgresql.jdbc.",
    "com.mysql.cj.jdbc.",
    "com.mysql.jdbc.",
    "org.mariadb.jdbc.",
    "oracle.jdbc.",
    "com.microsoft.sqlserver.jdbc.",
    "com.ibm.db2.jcc.",
    "org.h2.jdbc.",
    "org.hsqldb.jdbc.",
    "org.apache.derby.client.",
    "org.sqlite.jdbc",
    "com.zaxxer.hikari.pool.Proxy",
    "com.zaxxer.hikari.pool.HikariProxy",
    "org.apache.commons.dbcp2.Delegating",
    "org.apache.commons.dbcp2.PoolableConnection.",
    "org.apache.commons.dbcp.Delegating",
    "com.mchange.v2.c3p0.impl.NewProxy",
    "com.alibaba.druid.pool.DruidPooled",
    "org.springframework.transaction.interceptor.TransactionInterceptor.invoke",
    "org.springframework.transaction.support.TransactionTemplate.execute",
    "org.hibernate.engine.transaction.internal.TransactionImpl.",
];

const HTTP: &[&str] = &["org.apache.http.impl.", "org.apache.hc.client5.", "org.apache.hc.core5."];

/// The pools: HikariCP 2.4 to 7, Tomcat JDBC 7 to 11, DBCP 1 and 2, c3p0 0.9, UCP, BoneCP 0.8,
/// Druid 1.1 and 1.2, IronJacamar 1, Agroal 1 and 2, Atomikos 5, `WebSphere` and Liberty, Apache
/// `HttpClient` 4 and 5, `MongoDB`'s driver 3 to 5, Jedis over commons-pool.
pub(super) const POOLS: &[Pool] = &[
    Pool {
        name: "HikariCP",
        borrows: &["com.zaxxer.hikari.pool.HikariPool.getConnection"],
        own: "com.zaxxer.hikari.",
        uses: JDBC,
    },
    Pool {
        name: "Tomcat JDBC",
        borrows: &["org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection"],
        own: "org.apache.tomcat.jdbc.pool.",
        uses: JDBC,
    },
    Pool {
        name: "DBCP",
        borrows: &["org.apache.commons.dbcp", "org.apache.tomcat.dbcp."],
        own: "org.apache.",
        uses: JDBC,
    },
    Pool {
        name: "c3p0",
        borrows: &["com.mchange.v2.resourcepool.BasicResourcePool.awaitAvailable"],
        own: "com.mchange.",
        uses: JDBC,
    },
    Pool {
        name: "Oracle UCP",
        borrows: &[
            "oracle.ucp.common.UniversalConnectionPoolImpl.borrowConnection",
            "oracle.ucp.common.UniversalConnectionPoolBase.",
        ],
        own: "oracle.ucp.",
        uses: JDBC,
    },
    Pool {
        name: "BoneCP",
        borrows: &["com.jolbox.bonecp.DefaultConnectionStrategy.getConnectionInternal"],
        own: "com.jolbox.bonecp.",
        uses: JDBC,
    },
    Pool {
        name: "Druid",
        borrows: &[
            "com.alibaba.druid.pool.DruidDataSource.takeLast",
            "com.alibaba.druid.pool.DruidDataSource.pollLast",
        ],
        own: "com.alibaba.druid.pool.",
        uses: JDBC,
    },
    Pool {
        name: "IronJacamar",
        borrows: &["org.jboss.jca.core.connectionmanager.pool."],
        own: "org.jboss.jca.",
        uses: JDBC,
    },
    Pool {
        name: "Agroal",
        borrows: &["io.agroal.pool.ConnectionPool."],
        own: "io.agroal.",
        uses: JDBC,
    },
    Pool {
        name: "Atomikos",
        borrows: &[
            "com.atomikos.datasource.pool.ConnectionPool.waitForAtLeastOneAvailableConnection",
        ],
        own: "com.atomikos.",
        uses: JDBC,
    },
    Pool {
        name: "WebSphere's pool",
        borrows: &["com.ibm.ejs.j2c.FreePool."],
        own: "com.ibm.ejs.j2c.",
        uses: JDBC,
    },
    Pool {
        name: "Jedis",
        borrows: &["redis.clients.jedis.JedisPool.getResource", "redis.clients.jedis.util.Pool."],
        own: "org.apache.commons.pool",
        uses: &["redis.clients.jedis.Jedis.", "redis.clients.jedis.Connection."],
    },
    Pool {
        name: "Apache HttpClient",
        borrows: &[
            "org.apache.http.pool.AbstractConnPool.",
            "org.apache.http.impl.conn.PoolingHttpClientConnectionManager.leaseConnection",
            "org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager",
        ],
        own: "org.apache.h",
        uses: HTTP,
    },
    Pool {
        name: "MongoDB's driver",
        borrows: &[
            "com.mongodb.internal.connection.ConcurrentPool.",
            "com.mongodb.internal.connection.DefaultConnectionPool.",
        ],
        own: "com.mongodb.",
        uses: &["com.mongodb.internal.connection.InternalStreamConnection."],
    },
    Pool {
        name: "commons-pool",
        borrows: &[
            "org.apache.commons.pool2.impl.GenericObjectPool.borrowObject",
            "org.apache.commons.pool2.impl.GenericKeyedObjectPool.borrowObject",
            "org.apache.commons.pool.impl.GenericObjectPool.borrowObject",
            "org.apache.commons.pool.impl.GenericKeyedObjectPool.borrowObject",
        ],
        own: "org.apache.commons.pool",
        uses: &[],
    },
];

/// Frames that say that a pool makes, tests or closes a connection: it waits for the server.
pub(super) const CONNECTS: &[&str] = &[
    "com.zaxxer.hikari.pool.HikariPool$PoolEntryCreator.",
    "com.zaxxer.hikari.pool.PoolBase.",
    "com.zaxxer.hikari.pool.HikariPool.createPoolEntry",
    "oracle.ucp.common.UniversalPooledConnectionImpl.isValid",
    "com.mchange.v2.resourcepool.BasicResourcePool$ScatteredAcquireTask.",
];

/// Clients of services by their packages, the more particular ones first.
pub(super) const SERVICES: &[(&str, &str)] = &[
    ("org.postgresql.", "PostgreSQL"),
    ("com.mysql.", "MySQL"),
    ("org.mariadb.", "MariaDB"),
    ("oracle.jdbc.", "Oracle Database"),
    ("oracle.net.", "Oracle Database"),
    ("com.microsoft.sqlserver.", "SQL Server"),
    ("net.sourceforge.jtds.", "SQL Server"),
    ("com.ibm.db2.", "Db2"),
    ("org.apache.derby.client.", "Derby"),
    ("org.h2.engine.SessionRemote", "H2"),
    ("com.mongodb.", "MongoDB"),
    ("com.datastax.", "Cassandra"),
    ("redis.clients.jedis.", "Redis"),
    ("io.lettuce.", "Redis"),
    ("org.redisson.", "Redis"),
    ("net.spy.memcached.", "memcached"),
    ("net.rubyeye.xmemcached.", "memcached"),
    ("org.elasticsearch.client.", "Elasticsearch"),
    ("co.elastic.clients.", "Elasticsearch"),
    ("org.opensearch.client.", "OpenSearch"),
    ("org.apache.solr.client.", "Solr"),
    ("org.apache.zookeeper.ClientCnxn.submitRequest", "ZooKeeper"),
    ("org.apache.kafka.clients.producer.", "Kafka"),
    ("com.rabbitmq.client.", "RabbitMQ"),
    ("org.apache.activemq.", "ActiveMQ"),
    ("com.sun.jndi.ldap.", "LDAP"),
    ("com.unboundid.ldap.", "LDAP"),
    ("org.eclipse.angus.mail.", "a mail server"),
    ("com.sun.mail.", "a mail server"),
    ("com.jcraft.jsch.", "SSH"),
    ("org.apache.commons.net.", "FTP"),
    ("io.grpc.stub.ClientCalls.", "gRPC"),
    ("org.apache.cxf.transport.", "an HTTP service"),
    ("org.apache.http.", "an HTTP service"),
    ("org.apache.hc.", "an HTTP service"),
    ("org.apache.commons.httpclient.", "an HTTP service"),
    ("okhttp3.", "an HTTP service"),
    ("sun.net.www.protocol.http", "an HTTP service"),
    ("jdk.internal.net.http.", "an HTTP service"),
    ("sun.rmi.transport.StreamRemoteCall.", "an RMI service"),
    ("java.net.InetAddress.", "DNS"),
    ("java.net.Inet6AddressImpl.", "DNS"),
    ("java.net.Inet4AddressImpl.", "DNS"),
];

/// A thread in one of these, near the top of its stack, waits for new connections, or for whatever
/// comes on any of many: it has no work, and is nobody who could take some.
pub(super) const POLLS: &[&str] = &[
    "sun.nio.ch.SelectorImpl.",
    "sun.nio.ch.EPoll",
    "sun.nio.ch.KQueue",
    "sun.nio.ch.PollSelectorImpl.",
    "sun.nio.ch.Poller.pollerLoop",
    "sun.nio.ch.Poller.subPollerLoop",
    "sun.nio.ch.ServerSocketChannelImpl.",
    "sun.nio.ch.DatagramChannelImpl.receive",
    "sun.nio.ch.DatagramDispatcher.",
    "sun.nio.ch.UnixAsynchronousServerSocketChannelImpl.",
    "java.net.ServerSocket.",
    "java.net.PlainSocketImpl.socketAccept",
    "java.net.AbstractPlainSocketImpl.accept",
    "java.net.DatagramSocket.receive",
    "java.net.PlainDatagramSocketImpl.",
    "io.netty.channel.epoll.Native.epollWait",
    "io.netty.channel.epoll.EpollEventLoop.epollWait",
    "org.apache.tomcat.util.net.AprEndpoint",
    "org.apache.tomcat.jni.Poll.",
    "weblogic.socket.",
];

/// A thread in one of these, near the top of its stack, has no work: it waits for some.
pub(super) const IDLE: &[&str] = &[
    "java.util.concurrent.ThreadPoolExecutor.getTask",
    "org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask",
    "java.util.concurrent.ForkJoinPool.awaitWork",
    "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take",
    "java.util.concurrent.DelayQueue.take",
    "java.util.TimerThread.mainLoop",
    "java.lang.ref.",
    "jdk.internal.ref.",
    "sun.misc.Cleaner",
    "java.lang.ProcessHandleImpl",
    "java.lang.ProcessImpl.waitFor",
    "java.lang.UNIXProcess.waitFor",
    "sun.nio.fs.LinuxWatchService",
    "sun.nio.fs.AbstractWatchService",
    "org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll",
    "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll",
    "org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.",
    "org.eclipse.jetty.util.thread.QueuedThreadPool.join",
    "org.jboss.threads.EnhancedQueueExecutor$PoolThreadNode.park",
    "io.netty.util.concurrent.SingleThreadEventExecutor.takeTask",
    "io.netty.util.HashedWheelTimer$Worker.waitForNextTick",
    "org.glassfish.grizzly.threadpool.AbstractThreadPool$Worker.getTask",
    "org.glassfish.grizzly.threadpool.FixedThreadPool$BasicWorker.getTask",
    "org.apache.tomcat.util.net.JIoEndpoint$Worker.await",
    "org.apache.catalina.core.StandardServer.await",
    "org.apache.catalina.core.ContainerBase$ContainerBackgroundProcessor.",
    "weblogic.work.ExecuteThread.waitForRequest",
    "weblogic.kernel.ExecuteThread.waitForRequest",
    "com.ibm.ws.util.BoundedBuffer.",
    "com.ibm.ws.util.ThreadPool.getTask",
    "com.ibm.ws.tcpchannel.",
    "com.ibm.io.async.",
    "org.quartz.simpl.SimpleThreadPool$WorkerThread.",
    "org.quartz.core.QuartzSchedulerThread.",
    "com.mchange.v2.async.ThreadPoolAsynchronousRunner$PoolThread.run",
    "com.mysql.cj.jdbc.AbandonedConnectionCleanupThread.",
    "com.mysql.jdbc.AbandonedConnectionCleanupThread.",
    "org.apache.kafka.clients.NetworkClient.poll",
    "org.apache.kafka.clients.consumer.",
    "org.apache.zookeeper.ClientCnxn$",
    "com.rabbitmq.client.impl.AMQConnection$MainLoop.",
    "com.rabbitmq.client.impl.Frame.readFrom",
    "com.sun.jndi.ldap.Connection.run",
    "com.lmax.disruptor.",
    "sun.rmi.transport.DGCClient$",
    "sun.rmi.transport.ObjectTable$Reaper.",
    "sun.misc.GC$Daemon.",
    "sun.rmi.transport.GC$Daemon.",
    "sun.awt.",
    "java.awt.EventQueue.getNextEvent",
    "akka.actor.LightArrayRevolverScheduler",
    "kotlinx.coroutines.scheduling.CoroutineScheduler$Worker.park",
    "kotlinx.coroutines.scheduling.CoroutineScheduler$Worker.tryPark",
    "jdk.internal.vm.ThreadContainers",
    "jdk.internal.misc.CarrierThread",
    "java.lang.VirtualThread.yieldContinuation",
];

/// A server that reads in one of these waits for its client's next request.
pub(super) const SERVER_READS: &[&str] = &[
    "org.apache.coyote.",
    "org.apache.tomcat.util.net.",
    "org.apache.jk.",
    "org.eclipse.jetty.server.",
    "org.eclipse.jetty.io.",
    "org.mortbay.",
    "sun.rmi.transport.tcp.TCPTransport$ConnectionHandler.",
    "sun.net.httpserver.",
    "org.glassfish.grizzly.",
    "org.apache.activemq.transport.",
];

/// A thread below which one of these stands works on a task of a pool.
pub(super) const TASKS: &[&str] = &[
    "java.util.concurrent.ThreadPoolExecutor.runWorker",
    "java.util.concurrent.ThreadPoolExecutor$Worker.run",
    "org.apache.tomcat.util.threads.ThreadPoolExecutor",
    "java.util.concurrent.ForkJoinTask.doExec",
    "java.util.concurrent.ThreadPerTaskExecutor",
    "java.lang.VirtualThread.run",
    "org.eclipse.jetty.util.thread.QueuedThreadPool.runJob",
    "org.jboss.threads.",
    "weblogic.work.ExecuteThread.execute",
    "weblogic.kernel.ExecuteThread.execute",
    "com.ibm.ws.util.ThreadPool$Worker.run",
    "org.glassfish.grizzly.threadpool.AbstractThreadPool$Worker.doWork",
    "org.quartz.core.JobRunShell.run",
];

/// A thread with one of these serves a request.
pub(super) const REQUESTS: &[&str] = &[
    "org.apache.tomcat.util.net.SocketProcessorBase.run",
    "org.apache.tomcat.util.net.JIoEndpoint$SocketProcessor.run",
    "org.apache.coyote.http11.",
    "org.apache.coyote.ajp.",
    "org.apache.catalina.core.",
    "org.eclipse.jetty.server.",
    "org.mortbay.jetty.",
    "io.undertow.server.Connectors.executeRootHandler",
    "io.undertow.servlet.",
    "javax.servlet.http.HttpServlet.service",
    "jakarta.servlet.http.HttpServlet.service",
    "sun.net.httpserver.ServerImpl$Exchange.run",
    "com.sun.net.httpserver.Filter$Chain.doFilter",
    "io.netty.channel.AbstractChannelHandlerContext.invokeChannelRead",
    "io.vertx.",
    "reactor.netty.http.server.",
    "org.glassfish.grizzly.http.server.",
    "weblogic.servlet.internal.",
    "com.ibm.ws.webcontainer.",
    "sun.rmi.server.UnicastServerRef.dispatch",
    "io.grpc.internal.ServerImpl",
    "io.grpc.internal.ServerCallImpl",
    "org.springframework.web.servlet.",
    "org.apache.thrift.server.",
    "akka.http.impl.engine.server.",
    "play.core.server.",
];

/// Where a thread that is `RUNNABLE` to Java waits, in the system, for bytes of a socket.
pub(super) const SOCKET_READS: &[&str] = &[
    "java.net.SocketInputStream.socketRead0",
    "java.net.PlainSocketImpl.socketConnect",
    "sun.nio.ch.Net.poll",
    "sun.nio.ch.Net.connect",
    "sun.nio.ch.Net.pollConnect",
    "sun.nio.ch.NioSocketImpl.",
    "sun.nio.ch.SocketDispatcher.read",
    "sun.nio.ch.UnixFileDispatcherImpl.read0",
    "sun.nio.ch.FileDispatcherImpl.read0",
    "java.net.Inet6AddressImpl.lookupAllHostAddr",
    "java.net.Inet4AddressImpl.lookupAllHostAddr",
    "org.apache.tomcat.jni.Socket.recv",
];

/// Where a virtual thread waits for them, which parks meanwhile.
pub(super) const SOCKET_PARKS: &[&str] =
    &["sun.nio.ch.NioSocketImpl.park", "sun.nio.ch.SelChImpl.park"];

/// Where it waits for a file.
pub(super) const FILES: &[&str] = &[
    "java.io.FileInputStream.",
    "java.io.FileOutputStream.",
    "java.io.RandomAccessFile.",
    "java.io.FileDescriptor.sync",
    "java.io.UnixFileSystem.",
    "sun.nio.ch.FileDispatcherImpl.",
    "sun.nio.ch.UnixFileDispatcherImpl.",
    "sun.nio.ch.FileChannelImpl.",
    "sun.nio.fs.UnixNativeDispatcher.",
    "java.nio.MappedByteBuffer.force",
];

/// Where it waits for what another thread does.
pub(super) const RESULTS: &[&str] = &[
    "java.util.concurrent.FutureTask.get",
    "java.util.concurrent.CompletableFuture.get",
    "java.util.concurrent.CompletableFuture.join",
    "java.util.concurrent.CountDownLatch.await",
    "java.util.concurrent.CyclicBarrier.",
    "java.util.concurrent.Phaser.",
    "java.util.concurrent.Exchanger.",
    "java.util.concurrent.ForkJoinTask.",
    "java.util.concurrent.AbstractExecutorService.invoke",
    "java.util.concurrent.ExecutorCompletionService.",
    "java.lang.Thread.join",
    "io.netty.util.concurrent.DefaultPromise.",
    "reactor.core.publisher.Block",
    "com.google.common.util.concurrent.AbstractFuture.get",
];

/// Locks of `java.util.concurrent`, by the class on which their waiters park, and by method.
pub(super) const LOCK_CLASSES: &[&str] = &[
    "java.util.concurrent.locks.ReentrantLock",
    "java.util.concurrent.locks.ReentrantReadWriteLock",
    "java.util.concurrent.locks.StampedLock",
];

/// What lies between a program's own code and Java's: frames that do not tell where it is.
pub(super) const LIBRARIES: &[&str] = &[
    "java.",
    "javax.",
    "jakarta.",
    "jdk.",
    "sun.",
    "com.sun.",
    "kotlin.",
    "kotlinx.",
    "scala.",
    "groovy.",
    "org.springframework.",
    "org.hibernate.",
    "org.apache.",
    "org.eclipse.",
    "org.postgresql.",
    "org.mariadb.",
    "org.h2.",
    "org.jboss.",
    "org.slf4j.",
    "org.aspectj.",
    "org.jooq.",
    "com.mysql.",
    "com.microsoft.sqlserver.",
    "com.alibaba.druid.",
    "com.ibm.",
    "com.zaxxer.",
    "com.mchange.",
    "com.fasterxml.",
    "com.google.common.",
    "ch.qos.logback.",
    "oracle.",
    "weblogic.",
    "io.netty.",
    "io.undertow.",
    "io.lettuce.",
    "io.micrometer.",
    "io.vertx.",
    "reactor.",
    "redis.clients.",
    "okhttp3.",
    "feign.",
    "net.sf.cglib.",
];

/// Whether a method is one of those.
pub(super) fn is_of(method: &str, all: &[&str]) -> bool {
    all.iter().any(|start| method.starts_with(start))
}
