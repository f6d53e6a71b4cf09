/** The page's start. */

import "./ui/base.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app/app.tsx";
import { takeLoginLink } from "./app/login-link.ts";
import { registerWorker } from "./app/worker.ts";

takeLoginLink();

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
registerWorker();
