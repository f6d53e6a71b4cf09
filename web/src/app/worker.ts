/** The service worker: registered after the page has loaded; a new version waits until a person agrees. */

import { navigate } from "wouter/use-browser-location";

import { isRecord } from "../api/error.ts";
import { toast } from "../ui/toast.tsx";
import { useText } from "./text.ts";

/** Registers it, where the browser has such a thing and the page came over HTTPS or from this device. */
export function registerWorker(): void {
  if (!("serviceWorker" in navigator) || !import.meta.env.PROD) return;
  navigator.serviceWorker.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    if (isRecord(data) && typeof data["open"] === "string") navigate(data["open"]);
  });
  window.addEventListener("load", () => {
    navigator.serviceWorker.register("/sw.js").then(watch, () => undefined);
  });
}

function watch(registration: ServiceWorkerRegistration | undefined): void {
  // Some browsers that refuse workers say nothing instead of no.
  if (registration === undefined) return;
  const hadOne = navigator.serviceWorker.controller !== null;
  navigator.serviceWorker.addEventListener("controllerchange", () => {
    if (hadOne) location.reload();
  });
  if (registration.waiting !== null) offer(registration.waiting);
  registration.addEventListener("updatefound", () => {
    const worker = registration.installing;
    worker?.addEventListener("statechange", () => {
      if (worker.state === "installed" && hadOne) offer(worker);
    });
  });
}

function offer(worker: ServiceWorker): void {
  const action = { label: useText.say("reload"), run: () => worker.postMessage("activate") };
  toast(useText.say("newVersion"), { action });
}
