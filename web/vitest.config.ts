import react from "@vitejs/plugin-react";
import { defineProject } from "vitest/config";

export default defineProject({
  plugins: [react()],
  test: {
    name: "web",
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    exclude: ["src/**/*.browser.test.ts", "**/node_modules/**", "**/dist/**"],
    // A test of a page does many things one after the other, and others use the machine too.
    testTimeout: 20_000,
    setupFiles: ["src/testing/setup.ts"],
    // Class names of modules stay what they are called, so that tests may read them.
    css: { modules: { classNameStrategy: "non-scoped" } },
  },
});
