import { lazy, Suspense, useState, useSyncExternalStore } from "react";
import { ApprovalTray, useTitleCount } from "../approvals/tray.tsx";
import { Conversation } from "../chat/conversation.tsx";
import { NewChat } from "../chat/new-chat.tsx";
import { useCell } from "../hooks/use-cell.ts";
import { useCommands, usePage } from "../hooks/use-page.ts";
import { ChatList, useListCommands } from "../list/chat-list.tsx";
import { IconButton } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { Spinner } from "../parts/signs.tsx";
import { Toasts } from "../parts/toasts.tsx";
import { hashOf, type Route } from "../browser/route.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { ConnectionNotice, StoreNotice } from "./connection-notice.tsx";
import { FailureGuard } from "./failure-guard.tsx";
import { Palette } from "./palette.tsx";
import { PreferencesDialog } from "./preferences-dialog.tsx";
import { ShortcutsDialog } from "./shortcuts-dialog.tsx";
import { useShortcuts } from "./use-shortcuts.ts";
import { appWords } from "./words.ts";
import "./app.css";

const TreeView = lazy(async () => ({ default: (await import("../tree/tree-view.tsx")).TreeView }));
const Upstreams = lazy(async () => ({
  default: (await import("../upstreams/upstreams.tsx")).Upstreams,
}));

type Open = "nothing" | "palette" | "shortcuts" | "preferences";

/** The frame around everything: what there is on the left, what is looked at on the right. */
export function App() {
  const page = usePage();
  const words = useWords(appWords);
  const route = useCell(page.router.route);
  const preferences = useCell(page.preferences);
  const [open, setOpen] = useState<Open>("nothing");
  const [drawer, setDrawer] = useState(false);
  const isNarrow = useNarrow();
  const hasList = isNarrow ? drawer : preferences.sidebar === "shown";
  const toggleList = () => {
    if (isNarrow) setDrawer(!drawer);
    else page.preferences.change({ sidebar: hasList ? "hidden" : "shown" });
  };
  const toggleTheme = () =>
    page.preferences.change({
      theme: document.documentElement.dataset["theme"] === "dark" ? "light" : "dark",
    });
  useListCommands(() => {
    if (!hasList) toggleList();
  });
  useTitleCount();
  useShortcuts();
  useCommands([
    {
      id: "palette",
      title: words.palette,
      group: words.general,
      keys: "mod+k",
      hidden: true,
      run: () => setOpen("palette"),
    },
    {
      id: "shortcuts",
      title: words.shortcuts,
      group: words.general,
      keys: "?",
      run: () => setOpen("shortcuts"),
    },
    {
      id: "preferences",
      title: words.preferences,
      group: words.general,
      keys: "mod+,",
      run: () => setOpen("preferences"),
    },
    {
      id: "list",
      title: hasList ? words.hideList : words.showList,
      group: words.general,
      keys: "mod+b",
      run: toggleList,
    },
    ...(isNarrow && drawer
      ? [
          {
            id: "list-away",
            title: words.hideList,
            group: words.general,
            keys: "escape",
            hidden: true,
            run: () => setDrawer(false),
          },
        ]
      : []),
    { id: "theme", title: words.toggleTheme, group: words.general, run: toggleTheme },
    {
      id: "upstreams",
      title: words.goUpstreams,
      group: words.general,
      words: "codex models",
      run: () => page.router.go({ is: "upstreams" }),
    },
  ]);
  return (
    <div className="app" data-list={hasList || undefined}>
      <a className="app-skip" href="#content" onClick={skipToContent}>
        {words.skip}
      </a>
      <header className="app-bar">
        <IconButton
          icon="sidebar"
          label={hasList ? words.hideList : words.showList}
          aria-expanded={hasList}
          onClick={toggleList}
        />
        <a className="app-name" href={hashOf({ is: "new" })}>
          Deltawire
        </a>
        <Navigation route={route} />
        <ConnectionNotice />
        <ApprovalTray />
        <AppMenu onOpen={setOpen} onTheme={toggleTheme} />
        <StoreNotice />
      </header>
      {hasList && (
        <nav className="app-list" aria-label={words.chats}>
          <FailureGuard>
            <ChatList onChosen={() => setDrawer(false)} />
          </FailureGuard>
        </nav>
      )}
      {isNarrow && drawer && (
        <div className="app-shade" aria-hidden="true" onClick={() => setDrawer(false)} />
      )}
      <main id="content" className="app-content" tabIndex={-1}>
        <FailureGuard key={"chatId" in route ? route.chatId : route.is}>
          <Suspense fallback={<Waiting label={words.starting} />}>
            <Content route={route} />
          </Suspense>
        </FailureGuard>
      </main>
      {open === "palette" && <Palette onClose={() => setOpen("nothing")} />}
      {open === "shortcuts" && <ShortcutsDialog onClose={() => setOpen("nothing")} />}
      {open === "preferences" && <PreferencesDialog onClose={() => setOpen("nothing")} />}
      <Toasts />
    </div>
  );
}

function Waiting({ label }: { label: string }) {
  return (
    <div className="app-waiting">
      <Spinner label={label} />
    </div>
  );
}

function Content({ route }: { route: Route }) {
  switch (route.is) {
    case "new":
      return <NewChat />;
    case "chat":
      return <Conversation key={route.chatId} chatId={route.chatId} nodeId={route.nodeId} />;
    case "tree":
      return <TreeView key={route.chatId} chatId={route.chatId} />;
    case "upstreams":
      return <Upstreams />;
    default:
      return unreachable(route);
  }
}

function Navigation({ route }: { route: Route }) {
  const words = useWords(appWords);
  return (
    <nav className="app-navigation" aria-label="Deltawire">
      {places.map(({ name, icon, route: to, shows }) => (
        <a
          key={name}
          href={hashOf(to)}
          aria-label={words[name]}
          aria-current={shows.includes(route.is) ? "page" : undefined}
        >
          <Icon name={icon} />
          <span>{words[name]}</span>
        </a>
      ))}
    </nav>
  );
}

function AppMenu({ onOpen, onTheme }: { onOpen: (open: Open) => void; onTheme: () => void }) {
  const page = usePage();
  const words = useWords(appWords);
  const session = useCell(page.session.state);
  const signOut = {
    label: words.signOut,
    icon: "key",
    run: () => void page.session.signOut(),
  } as const;
  return (
    <Menu
      label={words.more}
      items={[
        {
          label: words.palette,
          icon: "search",
          keys: "mod+k",
          run: () => onOpen("palette"),
        },
        { label: words.shortcuts, icon: "list", keys: "?", run: () => onOpen("shortcuts") },
        { label: words.toggleTheme, icon: "moon", run: onTheme },
        {
          label: words.preferences,
          icon: "settings",
          keys: "mod+,",
          run: () => onOpen("preferences"),
        },
        ...(session.is === "open" && session.withToken ? (["line", signOut] as const) : []),
      ]}
    />
  );
}

/** The address stays as it is: it is the route. */
function skipToContent(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#content")?.focus();
}

/** Where the navigation leads. */
interface Place {
  readonly name: "chats" | "upstreams";
  readonly icon: IconName;
  readonly route: Route;
  /** What is shown there. */
  readonly shows: readonly Route["is"][];
}

const places: readonly Place[] = [
  { name: "chats", icon: "quote", route: { is: "new" }, shows: ["new", "chat", "tree"] },
  { name: "upstreams", icon: "plug", route: { is: "upstreams" }, shows: ["upstreams"] },
];

const narrow = "(max-width: 860px)";

/** Whether the list lies over the content instead of beside it. */
function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = matchMedia(narrow);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(narrow).matches,
    () => false,
  );
}
