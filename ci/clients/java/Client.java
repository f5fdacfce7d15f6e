import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The fabric8 client against the server of $KUBECONFIG: create, read, list, watch, update, delete. */
public class Client {
    private static void must(String what, boolean passed) {
        if (!passed) {
            System.err.println("FAILED " + what);
            System.exit(1);
        }
        System.out.println("ok " + what);
    }

    public static void main(String[] arguments) throws Exception {
        Config config = Config.fromKubeconfig(Files.readString(Path.of(System.getenv("KUBECONFIG"))));
        String space = "java-test-" + ProcessHandle.current().pid();
        try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
            client.resource(new NamespaceBuilder().withNewMetadata().withName(space).endMetadata().build()).create();
            var maps = client.configMaps().inNamespace(space);
            CountDownLatch seen = new CountDownLatch(1);
            var watch = maps.watch(new Watcher<ConfigMap>() {
                @Override
                public void eventReceived(Action action, ConfigMap map) {
                    if (action == Action.MODIFIED && "other".equals(map.getData().get("key"))) {
                        seen.countDown();
                    }
                }

                @Override
                public void onClose(WatcherException cause) {}
            });
            var metadata = new ConfigMapBuilder().withNewMetadata().withName("one").endMetadata();
            ConfigMap made = metadata.addToData("key", "value").build();
            must("create", maps.resource(made).create().getMetadata().getUid() != null);
            must("read", "value".equals(maps.withName("one").get().getData().get("key")));
            must("list", maps.list().getItems().size() == 1);
            maps.withName("one").edit(map -> new ConfigMapBuilder(map).addToData("key", "other").build());
            must("watch", seen.await(30, TimeUnit.SECONDS));
            watch.close();
            maps.withName("one").delete();
            must("delete", maps.withName("one").get() == null);
            client.namespaces().withName(space).delete();
        }
    }
}
