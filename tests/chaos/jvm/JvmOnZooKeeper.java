import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A contender of the JVM library on ZooKeeper for simba-chaos: Curator's LeaderLatch.
 *
 * <pre>
 * java JvmOnZooKeeper record status sight seed mutex id ttl transition drift servers
 * </pre>
 *
 * See JvmContender in servers.hpp, and record.hpp for what it writes down. Its node is the mutex, as
 * long as it exists: an ownership is certain up to the beginning of the last transaction in which
 * the servers found the node. Ends with SIGTERM, or when the process that started it is gone.
 */
final class JvmOnZooKeeper {
  /** A latch whose node could not be made never leads. */
  private static final long LONGEST_WAIT = 5_000_000_000L;

  /** What Curator said of one ownership. */
  private static final class Ownership {
    final long number;
    final String path;
    final long begin;

    Ownership(long number, String path, long begin) {
      this.number = number;
      this.path = path;
      this.begin = begin;
    }
  }

  private final FileOutputStream record;
  private final FileChannel status;
  private final long sight;
  private final Random random;
  private final String id;
  private final String node;
  private final CuratorFramework curator;
  private volatile LeaderLatch latch;
  private volatile Ownership ownership;
  private volatile boolean certain;

  private JvmOnZooKeeper(String[] words) throws IOException {
    record = new FileOutputStream(words[0], true);
    status = new RandomAccessFile(words[1], "rw").getChannel();
    sight = Long.parseLong(words[2]);
    random = new Random(Long.parseLong(words[3]));
    node = "/simba/" + words[4];
    id = words[5];
    int session = Integer.parseInt(words[6]) + Integer.parseInt(words[7]);
    curator =
        CuratorFrameworkFactory.newClient(
            words[9], session, 1000, new ExponentialBackoffRetry(50, 20, 500));
  }

  private void write(String word, Object... more) {
    StringBuilder line = new StringBuilder(word);
    for (Object one : more) {
      line.append(' ').append(one);
    }
    try {
      record.write(line.append('\n').toString().getBytes(StandardCharsets.US_ASCII));
    } catch (IOException error) {
      Runtime.getRuntime().halt(74);
    }
  }

  /** What others that ask this contender are told, also while it waits for the servers. */
  private void watch() {
    long last = 0;
    while (ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(1L) != 1) {
      LeaderLatch asked = latch;
      if (asked != null && asked.hasLeadership()) {
        String path = asked.getLastPathIsLeader();
        long now = System.nanoTime();
        Ownership known = ownership;
        if (path != null && (known == null || !known.path.equals(path))) {
          known = new Ownership(++last, path, now);
          write("granted", known.number, now, now);
          certain = false;
          ownership = known;
        }
        if (known != null && known.path.equals(path)) {
          write("believes", known.number, now);
          tell(now);
        }
      }
      pause(4);
    }
    Runtime.getRuntime().halt(1);
  }

  private void tell(long now) {
    if (!certain) {
      return;
    }
    ByteBuffer bytes = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder()).putLong(0, now);
    try {
      status.write(bytes, sight);
    } catch (IOException error) {
      Runtime.getRuntime().halt(74);
    }
  }

  private static void pause(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException error) {
      Runtime.getRuntime().halt(1);
    }
  }

  /** A transaction, which the leader of the servers and most of them agree to. */
  private void prove(Ownership one) {
    long sent = System.nanoTime();
    try {
      curator.transaction().forOperations(curator.transactionOp().check().forPath(one.path));
      write("granted", one.number, one.begin, sent);
      certain = true;
    } catch (Exception error) {
      certain = false;
    }
  }

  /** Acquires, holds and gives back; or waits no longer. */
  private void takeTurn() throws Exception {
    Ownership before = ownership;
    try (LeaderLatch own = new LeaderLatch(curator, node, id)) {
      own.start();
      latch = own;
      long patience = System.nanoTime() + LONGEST_WAIT;
      while (ownership == before && System.nanoTime() < patience) {
        pause(1);
      }
      long hold = random.nextInt(8) == 0 ? 4000 : 50 + random.nextInt(550);
      long end = System.nanoTime() + hold * 1_000_000;
      while (System.nanoTime() < end && ownership != before && own.hasLeadership()) {
        prove(ownership);
        pause(10);
      }
      latch = null;
      certain = false;
      if (ownership != before) {
        write("yields", ownership.number, System.nanoTime());
      }
    }
    pause(10 + random.nextInt(50));
  }

  private void run() {
    Thread watcher = new Thread(this::watch);
    watcher.setDaemon(true);
    watcher.start();
    curator.start();
    while (true) {
      try {
        takeTurn();
      } catch (Exception error) {
        latch = null;
        pause(20);
      }
    }
  }

  public static void main(String[] words) throws IOException {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
    new JvmOnZooKeeper(words).run();
  }
}
