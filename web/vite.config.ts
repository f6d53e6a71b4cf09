import { resolve } from "node:path";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const root = import.meta.dirname;

export default defineConfig({
  root,
  plugins: [react()],
  build: {
    target: ["es2023", "chrome123", "firefox121", "safari17.5"],
    outDir: "dist",
    emptyOutDir: true,
    manifest: true,
    // The content security policy of the page allows no data: addresses.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: { main: resolve(root, "index.html"), sw: resolve(root, "sw/sw.ts") },
      output: {
        // A service worker keeps its address, else browsers never see the next one.
        entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "assets/[name]-[hash].js"),
      },
    },
  },
  server: { proxy: { "/v1": { target: "http://127.0.0.1:7400", ws: true } } },
});
