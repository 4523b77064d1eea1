import io.lettuce.core.RedisURI;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import me.ahoo.simba.core.AbstractMutexContender;
import me.ahoo.simba.core.MutexContendService;
import me.ahoo.simba.core.MutexState;
import me.ahoo.simba.spring.redis.SpringRedisMutexContendServiceFactory;
import org.springframework.data.redis.connection.MessageListener;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.data.redis.listener.Topic;

/**
 * A contender of the JVM library itself, with its store on Redis. interop.py says what it is asked
 * and what it answers.
 *
 * <pre>
 * java RedisContender url mutex id turn ttl transition clock-offset channels
 * </pre>
 *
 * with times in milliseconds; the offset, in nanoseconds, is what CLOCK_BOOTTIME is ahead of
 * CLOCK_MONOTONIC. Version 2.9.5 listens on "simba:m", where its own scripts publish on "simba:{m}":
 * none of its waiters hears of a release. With channels "tagged" it listens where 3.1.3 does; with
 * "plain" it is left as it is.
 */
final class RedisContender {
  private static final Object LOCK = new Object();
  private static long clockOffset;
  private static boolean acquired;
  private static volatile boolean ended;

  private static void say(String line) {
    synchronized (System.out) {
      System.out.println(line);
      System.out.flush();
    }
  }

  private static long moment() {
    return System.nanoTime() + clockOffset;
  }

  /** Listens to the channels with the hash tag instead of those without. */
  private static final class Tagged extends RedisMessageListenerContainer {
    private final String mutex;

    Tagged(String mutex) {
      this.mutex = mutex;
    }

    private List<ChannelTopic> tagged(Collection<? extends Topic> topics) {
      return topics.stream()
          .map(
              topic ->
                  new ChannelTopic(
                      topic.getTopic().replace("simba:" + mutex, "simba:{" + mutex + "}")))
          .toList();
    }

    @Override
    public void addMessageListener(MessageListener listener, Collection<? extends Topic> topics) {
      super.addMessageListener(listener, tagged(topics));
    }

    @Override
    public void removeMessageListener(
        MessageListener listener, Collection<? extends Topic> topics) {
      super.removeMessageListener(listener, tagged(topics));
    }
  }

  /** Returns whether it owns the mutex; false when the end has come first. */
  private static boolean waitUntilAcquired() throws InterruptedException {
    synchronized (LOCK) {
      while (!acquired && !ended) {
        LOCK.wait();
      }
      return acquired;
    }
  }

  private static void hold(MutexContendService service, long turn) throws InterruptedException {
    long end = System.nanoTime() + turn * 1_000_000;
    while (true) {
      long at = moment();
      if (!service.isOwner()) {
        say("lost " + at);
        return;
      }
      long left = end - System.nanoTime();
      if (left <= 0) {
        say("releasing " + at);
        return;
      }
      say("owns " + at);
      Thread.sleep(Math.min(20, Math.max(1, left / 1_000_000)));
    }
  }

  private static void contend(String[] words) throws Exception {
    String mutex = words[1];
    long turn = Long.parseLong(words[3]);
    clockOffset = Long.parseLong(words[6]);
    LettuceConnectionFactory connections =
        new LettuceConnectionFactory(
            LettuceConnectionFactory.createRedisConfiguration(RedisURI.create(words[0])));
    connections.afterPropertiesSet();
    connections.start();
    StringRedisTemplate template = new StringRedisTemplate(connections);
    RedisMessageListenerContainer messages =
        words[7].equals("tagged") ? new Tagged(mutex) : new RedisMessageListenerContainer();
    messages.setConnectionFactory(connections);
    messages.afterPropertiesSet();
    messages.start();
    ScheduledThreadPoolExecutor timers = new ScheduledThreadPoolExecutor(1);
    MutexContendService service =
        new SpringRedisMutexContendServiceFactory(
                Duration.ofMillis(Long.parseLong(words[4])),
                Duration.ofMillis(Long.parseLong(words[5])),
                template,
                messages,
                ForkJoinPool.commonPool(),
                timers)
            .createMutexContendService(
                new AbstractMutexContender(mutex, words[2]) {
                  @Override
                  public void onAcquired(MutexState state) {
                    say("acquired " + moment());
                    synchronized (LOCK) {
                      acquired = true;
                      LOCK.notifyAll();
                    }
                  }

                  @Override
                  public void onReleased(MutexState state) {}
                });
    say("ready");
    while (!ended) {
      synchronized (LOCK) {
        acquired = false;
      }
      service.start();
      if (waitUntilAcquired()) {
        hold(service, turn);
      }
      service.stop();
      // Each message leaves a timer behind that stop() does not know of, and which would acquire.
      timers.getQueue().clear();
    }
  }

  private static void awaitTheEnd() {
    try {
      while (System.in.read() != -1) {}
    } catch (IOException error) {
      say("error " + error);
    }
    synchronized (LOCK) {
      ended = true;
      LOCK.notifyAll();
    }
  }

  public static void main(String[] words) {
    int code = 0;
    try {
      Thread end = new Thread(RedisContender::awaitTheEnd);
      end.setDaemon(true);
      end.start();
      contend(words);
    } catch (Exception error) {
      say("error " + (error + ": " + error.getCause()).replace('\n', ' '));
      code = 3;
    }
    // Whatever threads are left.
    Runtime.getRuntime().halt(code);
  }
}
