import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Prints what a Kafka knows of the configuration of its nodes, one line for each key, in the format that the Go package configdef reads (see its
 * parse.go). Everything comes from Kafka's own classes, by reflection, because they moved and changed their language between versions:
 *
 *   java -cp 'libs/*' Table.java > kafka-4.3.1.tsv
 *
 * A class or member that is not where any known version has it ends the program: a table with holes is worse than none.
 */
public class Table {
    /** The classes that define the keys; they name what a key is about. One that a version does not have, defines nothing in it. */
    private static final String[][] GROUPS = {
        {"server", "org.apache.kafka.server.config.ServerConfigs"},
        {"kraft", "org.apache.kafka.raft.KRaftConfigs", "org.apache.kafka.server.config.KRaftConfigs"},
        {"metadata-log", "org.apache.kafka.raft.MetadataLogConfig"},
        {"quorum", "org.apache.kafka.raft.QuorumConfig"},
        {"socket-server", "org.apache.kafka.network.SocketServerConfigs"},
        {"security", "org.apache.kafka.common.config.internals.BrokerSecurityConfigs"},
        {"delegation-token", "org.apache.kafka.server.config.DelegationTokenManagerConfigs"},
        {"metrics", "org.apache.kafka.server.metrics.MetricConfigs"},
        {"quota", "org.apache.kafka.server.config.QuotaConfig", "org.apache.kafka.server.config.QuotaConfigs"},
        {"replication", "org.apache.kafka.server.config.ReplicationConfigs"},
        {"log", "org.apache.kafka.storage.internals.log.LogConfig"},
        {"log-cleaner", "org.apache.kafka.storage.internals.log.CleanerConfig"},
        {"remote-log", "org.apache.kafka.server.log.remote.storage.RemoteLogManagerConfig"},
        {"group-coordinator", "org.apache.kafka.coordinator.group.GroupCoordinatorConfig"},
        {"share-group", "org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig", "org.apache.kafka.server.config.ShareGroupConfig"},
        {"share-coordinator", "org.apache.kafka.coordinator.share.ShareCoordinatorConfig"},
        {"transaction-log", "org.apache.kafka.coordinator.transaction.TransactionLogConfig", "org.apache.kafka.coordinator.transaction.TransactionLogConfigs"},
        {"transaction-state", "org.apache.kafka.coordinator.transaction.TransactionStateManagerConfig", "org.apache.kafka.coordinator.transaction.TransactionStateManagerConfigs"},
        {"add-partitions-to-transaction", "org.apache.kafka.coordinator.transaction.AddPartitionsToTxnConfig"},
        {"zookeeper", "org.apache.kafka.server.config.ZkConfigs"},
        {"password-encoder", "org.apache.kafka.security.PasswordEncoderConfigs"},
    };

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        ConfigDef all = (ConfigDef) call(type("kafka.server.KafkaConfig"), "configDef");
        Map<String, ?> modes = (Map<String, ?>) call(dynamic(), "dynamicConfigUpdateModes");
        Set<String> perListener = new HashSet<>(strings(constant(dynamic(), "DYNAMIC_SECURITY_CONFIGS", "DynamicSecurityConfigs")));
        Set<String> controllers = reconfigurableOnControllers();
        Map<String, String> groups = groups();
        out.println("# Kafka " + AppInfoParser.getVersion() + ". Generated from its classes by hack/brokerconfig/generate.sh; do not edit.");
        out.println("# key\ttype\tmode\tcontroller\tgroup\tbefore\tdefault\tvalues");
        for (ConfigDef.ConfigKey key : new TreeMap<>(all.configKeys()).values()) {
            if (key.internalConfig) {
                continue; // as a node, which does not tell of them unless they are set
            }
            String mode = modes.containsKey(key.name) ? modes.get(key.name).toString() : "read-only";
            if (perListener.contains(key.name)) {
                mode = "per-listener"; // dynamic behind a listener's prefix only (DynamicBrokerConfig.securityConfigsWithoutListenerPrefix)
            }
            if (!groups.containsKey(key.name)) {
                throw new IllegalStateException("no known class defines " + key.name);
            }
            out.println(String.join("\t", key.name, key.type.name().toLowerCase(), mode, controllers.contains(key.name) ? "dynamic" : "-",
                groups.get(key.name), before(key.name), fallback(key), values(key.validator)));
        }
        out.flush();
    }

    /** The keys whose value counts instead of this one's where they are set, the strongest first. */
    private static String before(String key) throws Exception {
        List<String> names = strings(call(dynamic(), "brokerConfigSynonyms", key, false));
        int own = names.indexOf(key);
        return own > 0 ? String.join(",", names.subList(0, own)) : "-";
    }

    private static String fallback(ConfigDef.ConfigKey key) {
        if (!key.hasDefault() || key.defaultValue == null) {
            return "null";
        }
        String value = ConfigDef.convertToString(key.defaultValue, key.type);
        return '"' + value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\t", "\\t").replace("\n", "\\n") + '"';
    }

    /**
     * Which values are legal beyond what the type says: min=0 and max=9, oneof=a,b, oneof-any-case=A,B, items=a,b for those of a list, distinct and
     * non-empty for a list, and code where only Kafka's code can tell. A dash where there is no rule.
     */
    private static String values(ConfigDef.Validator validator) throws Exception {
        List<String> rules = new ArrayList<>();
        if (validator instanceof ConfigDef.CompositeValidator) {
            for (Object part : (List<?>) member(validator, "validators")) {
                String rule = values((ConfigDef.Validator) part);
                if (!rule.equals("-")) {
                    rules.add(rule);
                }
            }
        } else if (validator instanceof ConfigDef.Range) {
            for (String end : new String[] {"min", "max"}) {
                Object value = member(validator, end);
                if (value != null) {
                    rules.add(end + "=" + value);
                }
            }
        } else if (validator instanceof ConfigDef.ValidString) {
            rules.add("oneof=" + join((List<?>) member(validator, "validStrings")));
        } else if (validator instanceof ConfigDef.CaseInsensitiveValidString) {
            rules.add("oneof-any-case=" + join((Collection<?>) member(validator, "validStrings")));
        } else if (validator instanceof ConfigDef.ValidList) {
            List<?> items = (List<?>) member(member(validator, "validString"), "validStrings");
            if (!items.isEmpty()) {
                rules.add("items=" + join(items));
            }
            if (has(validator, "isEmptyAllowed")) { // since 4.2; lists may hold a value twice before
                rules.add("distinct");
                if (!(boolean) member(validator, "isEmptyAllowed")) {
                    rules.add("non-empty");
                }
            }
        } else if (validator != null) {
            rules.add("code");
        }
        return rules.isEmpty() ? "-" : String.join(" ", rules);
    }

    private static String join(Collection<?> values) {
        List<String> texts = new ArrayList<>();
        for (Object value : values) {
            texts.add(value.toString());
        }
        return String.join(",", texts);
    }

    private static boolean has(Object target, String field) {
        for (Field f : target.getClass().getDeclaredFields()) {
            if (f.getName().equals(field)) {
                return true;
            }
        }
        return false;
    }

    private static Object member(Object target, String field) throws Exception {
        Field f = target.getClass().getDeclaredField(field);
        f.setAccessible(true);
        return f.get(target);
    }

    /**
     * What a node that is only a controller takes up while it runs: the keys of what ControllerServer registers (DynamicBrokerConfig.addReconfigurables),
     * and the defaults of topics, which it reads from the metadata itself. It does not register
     * DynamicListenerConfig, so that a controller takes no other listeners, although it accepts to be told of them.
     */
    private static Set<String> reconfigurableOnControllers() throws Exception {
        Set<String> keys = new HashSet<>();
        Class<?> pool = Class.forName("kafka.server.ControllerDynamicThreadPool");
        Object threads = pool.getConstructors()[0].newInstance(new Object[] {null});
        keys.addAll(strings(callOn(pool, threads, "reconfigurableConfigs")));
        Class<?> socketServer = find("org.apache.kafka.network.SocketServer");
        keys.addAll(strings(constant(socketServer != null ? socketServer : type("kafka.network.SocketServer"), "RECONFIGURABLE_CONFIGS", "ReconfigurableConfigs")));
        keys.addAll(strings(((Map<?, ?>) constant(type("org.apache.kafka.server.config.ServerTopicConfigSynonyms"), "TOPIC_CONFIG_SYNONYMS")).values()));
        keys.add((String) constant(type("org.apache.kafka.server.metrics.MetricConfigs"), "METRIC_REPORTER_CLASSES_CONFIG"));
        return keys;
    }

    private static Map<String, String> groups() throws Exception {
        Map<String, String> groups = new TreeMap<>();
        for (String[] group : GROUPS) {
            for (int i = 1; i < group.length; i++) {
                Class<?> c = find(group[i]);
                if (c == null) {
                    continue;
                }
                for (String key : definitions(c)) {
                    groups.putIfAbsent(key, group[0]);
                }
            }
        }
        return groups;
    }

    /** The keys that a class defines: in a constant, in several, or in what a method returns. */
    private static Set<String> definitions(Class<?> c) throws Exception {
        Set<String> keys = new HashSet<>();
        for (Field f : c.getFields()) {
            if (f.getType() == ConfigDef.class && f.getName().endsWith("CONFIG_DEF")) {
                keys.addAll(((ConfigDef) f.get(null)).names());
            }
        }
        return keys.isEmpty() ? ((ConfigDef) call(c, "configDef")).names() : keys;
    }

    /** Kafka's class for dynamic configuration: Java's since 4.1, Scala's before. */
    private static Class<?> dynamic() {
        Class<?> c = find("org.apache.kafka.server.config.DynamicBrokerConfig");
        return c != null ? c : type("kafka.server.DynamicBrokerConfig");
    }

    private static Class<?> find(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    private static Class<?> type(String name) {
        Class<?> c = find(name);
        if (c == null) {
            throw new IllegalStateException("this Kafka has no class " + name);
        }
        return c;
    }

    /** A constant: a static field in Java, a method of the companion object in Scala. The first name that there is counts. */
    private static Object constant(Class<?> c, String... names) throws Exception {
        for (String name : names) {
            try {
                return c.getField(name).get(null);
            } catch (NoSuchFieldException e) {
                // maybe Scala's
            }
            Class<?> companion = find(c.getName() + "$");
            if (companion != null && method(companion, name, 0) != null) {
                return callOn(companion, companion.getField("MODULE$").get(null), name);
            }
        }
        throw new IllegalStateException(c + " has no " + String.join(" and no ", names));
    }

    /** Calls a static method in Java, a method of the companion object in Scala. */
    private static Object call(Class<?> c, String name, Object... args) throws Exception {
        Class<?> companion = find(c.getName() + "$");
        if (companion != null && method(companion, name, args.length) != null) {
            return callOn(companion, companion.getField("MODULE$").get(null), name, args);
        }
        return callOn(c, null, name, args);
    }

    private static Object callOn(Class<?> c, Object target, String name, Object... args) throws Exception {
        Method m = method(c, name, args.length);
        if (m == null) {
            throw new IllegalStateException(c + " has no method " + name);
        }
        m.setAccessible(true);
        return m.invoke(target, args);
    }

    private static Method method(Class<?> c, String name, int parameters) {
        for (Method m : c.getMethods()) {
            if (m.getName().equals(name) && m.getParameterCount() == parameters) {
                return m;
            }
        }
        return null;
    }

    /** The strings of a collection of Java or of Scala. */
    private static List<String> strings(Object collection) throws Exception {
        List<String> strings = new ArrayList<>();
        if (collection instanceof Collection) {
            for (Object s : (Collection<?>) collection) {
                strings.add((String) s);
            }
            return strings;
        }
        Object iterator = Class.forName("scala.collection.IterableOnce").getMethod("iterator").invoke(collection);
        Class<?> c = Class.forName("scala.collection.Iterator");
        while ((boolean) c.getMethod("hasNext").invoke(iterator)) {
            strings.add((String) c.getMethod("next").invoke(iterator));
        }
        return strings;
    }
}
