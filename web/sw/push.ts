/**
 * Notifications: what the coordinator sends is shown, and a tap leads to the task.
 *
 * N1  Nothing is shown to a person who has the page before their eyes; what they try by hand is.
 * N2  A tap goes to a path of this page only, in the window that is open when there is one.
 */

interface Message {
  readonly kind: string;
  readonly key: string;
  readonly title: string;
  readonly url: string;
  readonly tag: string;
  readonly locale: string;
}

const TEXTS = {
  en: { needs_input: "needs your answer", failed: "has failed", done: "is done", test: "Notifications work here" },
  zh: { needs_input: "需要您的回答", failed: "已失败", done: "已完成", test: "此处可以收到通知" },
} as const;

/** Listens for messages and taps. */
export function servePush(self: ServiceWorkerGlobalScope): void {
  self.addEventListener("push", (event) => {
    event.waitUntil(show(self, event.data));
  });
  self.addEventListener("notificationclick", (event) => {
    event.notification.close();
    event.waitUntil(openAt(self, pathOf(event.notification.data)));
  });
}

async function show(self: ServiceWorkerGlobalScope, data: PushMessageData | null): Promise<void> {
  const message = read(data);
  if (message === undefined) return;
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (message.kind !== "test" && windows.some(({ visibilityState }) => visibilityState === "visible")) return;
  const texts = (message.locale || self.navigator.language).startsWith("zh") ? TEXTS.zh : TEXTS.en;
  const kind = message.kind in texts ? (message.kind as keyof typeof texts) : "done";
  const options: NotificationOptions & { renotify?: boolean } = {
    body: message.title,
    tag: message.tag,
    renotify: true,
    icon: "/icon-192.png",
    data: message.url,
  };
  await self.registration.showNotification(`${message.key} ${texts[kind]}`.trim(), options);
}

async function openAt(self: ServiceWorkerGlobalScope, path: string): Promise<void> {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const open = windows.find(({ focused }) => focused) ?? windows[0];
  if (open === undefined) {
    await self.clients.openWindow(path);
    return;
  }
  open.postMessage({ open: path });
  // A browser may refuse when too long has passed since the tap; the page goes there all the same.
  await open.focus().catch(() => undefined);
}

function read(data: PushMessageData | null): Message | undefined {
  try {
    const value: unknown = data?.json();
    if (typeof value !== "object" || value === null) return undefined;
    const text = (name: string): string => {
      const found: unknown = Reflect.get(value, name);
      return typeof found === "string" ? found : "";
    };
    const { kind, key, title, url, tag, locale } = {
      kind: text("kind"),
      key: text("key"),
      title: text("title"),
      url: text("url"),
      tag: text("tag"),
      locale: text("locale"),
    };
    return kind === "" ? undefined : { kind, key, title, url, tag, locale };
  } catch {
    return undefined;
  }
}

/** A path on this origin, whatever was sent. */
function pathOf(url: unknown): string {
  return typeof url === "string" && /^\/(?!\/)[\w/.-]*$/.test(url) ? url : "/inbox";
}
