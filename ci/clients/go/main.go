// Informers of client-go against the server of $KUBECONFIG: they sync, and see objects created, changed and deleted.
// Objects are also created and read in protobuf, and listed page by page.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func must(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "FAILED %s: %v\n", what, err)
		os.Exit(1)
	}
	fmt.Println("ok", what)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must("read the kubeconfig", err)
	client, err := kubernetes.NewForConfig(config)
	must("make a client", err)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	protobuf, err := kubernetes.NewForConfig(config)
	must("make a client that sends protobuf", err)

	space := fmt.Sprintf("go-test-%d", os.Getpid())
	namespace := &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: space}}
	_, err = client.CoreV1().Namespaces().Create(ctx, namespace, meta.CreateOptions{})
	must("create a namespace", err)
	defer client.CoreV1().Namespaces().Delete(ctx, space, meta.DeleteOptions{})
	maps := client.CoreV1().ConfigMaps(space)
	configMap := func(name string) *core.ConfigMap {
		return &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name}, Data: map[string]string{"key": "value"}}
	}
	_, err = maps.Create(ctx, configMap("before"), meta.CreateOptions{})
	must("create a config map", err)

	events := make(chan string, 16)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(space))
	informer := factory.Core().V1().ConfigMaps().Informer()
	name := func(object any) string { return object.(*core.ConfigMap).Name }
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { events <- "add " + name(object) },
		UpdateFunc: func(_, object any) { events <- "update " + name(object) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			events <- "delete " + name(object)
		},
	})
	must("add a handler", err)
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		must("sync", ctx.Err())
	}
	must("sync", nil)
	see := func(expected string) {
		select {
		case seen := <-events:
			if seen != expected {
				must("see "+expected, fmt.Errorf("got %s", seen))
			}
			must("see "+expected, nil)
		case <-ctx.Done():
			must("see "+expected, ctx.Err())
		}
	}
	see("add before")

	_, err = protobuf.CoreV1().ConfigMaps(space).Create(ctx, configMap("after"), meta.CreateOptions{})
	must("create a config map in protobuf", err)
	see("add after")
	changed, err := maps.Get(ctx, "after", meta.GetOptions{})
	must("read it", err)
	if changed.Data["key"] != "value" {
		must("find its data", fmt.Errorf("%v", changed.Data))
	}
	changed.Data["key"] = "other"
	_, err = maps.Update(ctx, changed, meta.UpdateOptions{})
	must("update it", err)
	see("update after")

	page, err := maps.List(ctx, meta.ListOptions{Limit: 1})
	must("list a page", err)
	rest, err := maps.List(ctx, meta.ListOptions{Limit: 1, Continue: page.Continue})
	must("list the next page", err)
	if len(page.Items) != 1 || len(rest.Items) != 1 || page.Items[0].Name == rest.Items[0].Name || rest.Continue != "" {
		must("list in two pages", fmt.Errorf("%v and %v", page.Items, rest.Items))
	}

	zero := int64(0)
	err = protobuf.CoreV1().ConfigMaps(space).Delete(ctx, "after", meta.DeleteOptions{GracePeriodSeconds: &zero})
	must("delete it", err)
	see("delete after")
}
