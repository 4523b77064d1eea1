import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A contender that uses Curator's LeaderLatch, as the JVM library does.
 *
 * <pre>
 * java CuratorContender servers path id session-timeout connection-timeout clock-offset
 * </pre>
 *
 * with times in milliseconds; the offset, in nanoseconds, is what CLOCK_BOOTTIME is ahead of
 * CLOCK_MONOTONIC. Obeys a line each from standard input, and ends with it:
 *
 * <pre>
 * start     contends until "close"
 * close     gives the mutex back, or waits no longer
 * leader?   asks who leads
 * leads?    asks whether it leads itself, as it knows without asking the servers
 * quit
 * </pre>
 *
 * and says, a line each, where time is CLOCK_BOOTTIME in nanoseconds:
 *
 * <pre>
 * ready
 * started            the latch has begun; its node may not be there yet
 * acquired time      after the servers have said so
 * released time      it leads no more, by its own will or not
 * closing time       before the servers hear of it
 * closed
 * leader id          "leader -" where nobody leads
 * leads yes | leads no
 * state name         of the connection: CONNECTED, SUSPENDED, RECONNECTED, LOST
 * error text         and ends with code 3
 * </pre>
 */
final class CuratorContender {
  private final CuratorFramework curator;
  private final String path;
  private final String id;
  private final long clockOffset;
  private LeaderLatch latch;

  private CuratorContender(String[] words) {
    path = words[1];
    id = words[2];
    clockOffset = Long.parseLong(words[5]);
    curator =
        CuratorFrameworkFactory.newClient(
            words[0],
            Integer.parseInt(words[3]),
            Integer.parseInt(words[4]),
            new ExponentialBackoffRetry(50, 20, 500));
    curator
        .getConnectionStateListenable()
        .addListener((client, state) -> say("state " + state.name()));
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private long moment() {
    return System.nanoTime() + clockOffset;
  }

  private void start() throws Exception {
    // One can be started once only.
    latch = new LeaderLatch(curator, path, id);
    latch.addListener(
        new LeaderLatchListener() {
          @Override
          public void isLeader() {
            say("acquired " + moment());
          }

          @Override
          public void notLeader() {
            say("released " + moment());
          }
        });
    latch.start();
    say("started");
  }

  private void close() throws IOException {
    say("closing " + moment());
    latch.close(LeaderLatch.CloseMode.NOTIFY_LEADER);
    latch = null;
    say("closed");
  }

  private void tellLeader() throws Exception {
    // One that was never started can tell, too, and needs no end.
    LeaderLatch asked = latch != null ? latch : new LeaderLatch(curator, path, id);
    String leader = asked.getLeader().getId();
    say("leader " + (leader.isEmpty() ? "-" : leader));
  }

  /** Returns whether there is more to do. */
  private boolean obey(String order) throws Exception {
    switch (order) {
      case "start":
        start();
        return true;
      case "close":
        close();
        return true;
      case "leader?":
        tellLeader();
        return true;
      case "leads?":
        say(latch != null && latch.hasLeadership() ? "leads yes" : "leads no");
        return true;
      case "quit":
        return false;
      default:
        throw new IllegalArgumentException("unknown order " + order);
    }
  }

  private void run() throws Exception {
    curator.start();
    curator.blockUntilConnected();
    say("ready");
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String order = orders.readLine();
    while (order != null && obey(order)) {
      order = orders.readLine();
    }
    if (latch != null) {
      close();
    }
    curator.close();
  }

  public static void main(String[] words) {
    int code = 0;
    try {
      new CuratorContender(words).run();
    } catch (Exception error) {
      say("error " + error.toString().replace('\n', ' '));
      code = 3;
    }
    // Whatever threads are left.
    Runtime.getRuntime().halt(code);
  }
}
