import type { Route } from "./route.ts";

/** The page and its session: a browser has no token before it has them. */
export const pageRoutes = [
  {
    method: "GET",
    path: "/api/session",
    name: "session",
    open: true,
    summary: "Whether a token is asked for, and whether this browser is signed in.",
  },
  {
    method: "POST",
    path: "/api/session",
    name: "sign in",
    open: true,
    summary: "For the page: takes a token and sets a cookie in its place.",
  },
  {
    method: "DELETE",
    path: "/api/session",
    name: "sign out",
    open: true,
    summary: "For the page: clears its cookie.",
  },
  {
    method: "GET",
    path: "/",
    name: "home",
    open: true,
    summary: "The page; where none is built, what this is and how to connect.",
  },
  {
    method: "GET",
    path: "/assets/{file}",
    name: "page asset",
    open: true,
    summary: "A script, a style or a font of the page.",
  },
] as const satisfies readonly Route[];
