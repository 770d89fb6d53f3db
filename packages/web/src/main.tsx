import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Entrance } from "./app/entrance.tsx";
import { offersReload } from "./app/offers-reload.ts";
import { sharesSession } from "./app/shares-session.ts";
import { showPreferences, Spoken } from "./app/shown-preferences.tsx";
import { browserWorld } from "./browser/world.ts";
import { PageContext } from "./hooks/use-page.ts";
import { createPage } from "./state/create-page.ts";
import "./parts/theme.css";
import "./parts/parts.css";

const place = document.querySelector("#page");
if (place === null) throw new Error("the page has no place to be drawn in");

const page = createPage(browserWorld(window));
showPreferences(page.preferences);
offersReload(page);
sharesSession(page);
createRoot(place).render(
  <StrictMode>
    <PageContext value={page}>
      <Spoken>
        <Entrance />
      </Spoken>
    </PageContext>
  </StrictMode>,
);
