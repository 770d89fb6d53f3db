import { assertNever } from "@deltawire/tasks";
import { lazy, Suspense, useState, useSyncExternalStore } from "react";
import { ApprovalTray, useDocumentTitle } from "../approvals/approval-tray.tsx";
import { ChatView } from "../chat/chat-view.tsx";
import { NewChatView } from "../chat/new-chat-view.tsx";
import { useCell } from "../hooks/use-cell.ts";
import { useCommands, useAppStore } from "../hooks/use-app-store.ts";
import { ChatList, useChatListCommands } from "../list/chat-list.tsx";
import { IconButton } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { Toaster } from "../ui/toaster.tsx";
import { formatHashRoute, type HashRoute } from "../browser/hash-router.ts";
import { useMessages } from "../messages/use-messages.ts";
import { ConnectionNotice, StoreNotice } from "./connection-notice.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { CommandPalette } from "./command-palette.tsx";
import { PreferencesDialog } from "./preferences-dialog.tsx";
import { ShortcutsDialog } from "./shortcuts-dialog.tsx";
import { useShortcuts } from "./use-shortcuts.ts";
import { appMessages } from "./messages.ts";
import "./app.css";

const TreeView = lazy(async () => ({ default: (await import("../tree/tree-view.tsx")).TreeView }));
const Upstreams = lazy(async () => ({
  default: (await import("../upstreams/upstreams-view.tsx")).UpstreamsView,
}));

type OpenDialog = "none" | "palette" | "shortcuts" | "preferences";

/** The layout of the page: the header, the chat list, and the view of the current route. */
export function App() {
  const app = useAppStore();
  const t = useMessages(appMessages);
  const route = useCell(app.router.route);
  const preferences = useCell(app.preferences);
  const [openDialog, setOpenDialog] = useState<OpenDialog>("none");
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const isNarrow = useIsNarrow();
  const isListVisible = isNarrow ? isDrawerOpen : preferences.sidebar === "shown";
  const toggleList = () => {
    if (isNarrow) setDrawerOpen(!isDrawerOpen);
    else app.preferences.change({ sidebar: isListVisible ? "hidden" : "shown" });
  };
  const toggleTheme = () =>
    app.preferences.change({
      theme: document.documentElement.dataset["theme"] === "dark" ? "light" : "dark",
    });
  useChatListCommands(() => {
    if (!isListVisible) toggleList();
  });
  useDocumentTitle();
  useShortcuts();
  useCommands([
    {
      id: "palette",
      title: t.palette,
      group: t.general,
      keys: "mod+k",
      hidden: true,
      run: () => setOpenDialog("palette"),
    },
    {
      id: "shortcuts",
      title: t.shortcuts,
      group: t.general,
      keys: "?",
      run: () => setOpenDialog("shortcuts"),
    },
    {
      id: "preferences",
      title: t.preferences,
      group: t.general,
      keys: "mod+,",
      run: () => setOpenDialog("preferences"),
    },
    {
      id: "list",
      title: isListVisible ? t.hideList : t.showList,
      group: t.general,
      keys: "mod+b",
      run: toggleList,
    },
    ...(isNarrow && isDrawerOpen
      ? [
          {
            id: "list-close",
            title: t.hideList,
            group: t.general,
            keys: "escape",
            hidden: true,
            run: () => setDrawerOpen(false),
          },
        ]
      : []),
    { id: "theme", title: t.toggleTheme, group: t.general, run: toggleTheme },
    {
      id: "upstreams",
      title: t.openUpstreams,
      group: t.general,
      keywords: "claude codex models",
      run: () => app.router.navigate({ type: "upstreams" }),
    },
  ]);
  return (
    <div className="app" data-list-visible={isListVisible || undefined}>
      <a className="app-skip" href="#content" onClick={skipToContent}>
        {t.skip}
      </a>
      <header className="app-bar">
        <IconButton
          icon="sidebar"
          label={isListVisible ? t.hideList : t.showList}
          aria-expanded={isListVisible}
          onClick={toggleList}
        />
        <a className="app-name" href={formatHashRoute({ type: "new" })}>
          Deltawire
        </a>
        <Navigation route={route} />
        <ConnectionNotice />
        <ApprovalTray />
        <AppMenu onOpen={setOpenDialog} onToggleTheme={toggleTheme} />
        <StoreNotice />
      </header>
      {isListVisible && (
        <nav className="app-list" aria-label={t.chats}>
          <ErrorBoundary>
            <ChatList onSelect={() => setDrawerOpen(false)} />
          </ErrorBoundary>
        </nav>
      )}
      {isNarrow && isDrawerOpen && (
        <div className="app-backdrop" aria-hidden="true" onClick={() => setDrawerOpen(false)} />
      )}
      <main id="content" className="app-content" tabIndex={-1}>
        <ErrorBoundary key={"chatId" in route ? route.chatId : route.type}>
          <Suspense fallback={<LoadingScreen label={t.connectingToGateway} />}>
            <RouteContent route={route} />
          </Suspense>
        </ErrorBoundary>
      </main>
      {openDialog === "palette" && <CommandPalette onClose={() => setOpenDialog("none")} />}
      {openDialog === "shortcuts" && <ShortcutsDialog onClose={() => setOpenDialog("none")} />}
      {openDialog === "preferences" && <PreferencesDialog onClose={() => setOpenDialog("none")} />}
      <Toaster />
    </div>
  );
}

function LoadingScreen({ label }: { label: string }) {
  return (
    <div className="app-loading">
      <Spinner label={label} />
    </div>
  );
}

function RouteContent({ route }: { route: HashRoute }) {
  switch (route.type) {
    case "new":
      return <NewChatView />;
    case "chat":
      return <ChatView key={route.chatId} chatId={route.chatId} nodeId={route.nodeId} />;
    case "tree":
      return <TreeView key={route.chatId} chatId={route.chatId} />;
    case "upstreams":
      return <Upstreams />;
    default:
      return assertNever(route);
  }
}

function Navigation({ route }: { route: HashRoute }) {
  const t = useMessages(appMessages);
  return (
    <nav className="app-navigation" aria-label="Deltawire">
      {navigationItems.map(({ name, icon, route: to, activeFor }) => (
        <a
          key={name}
          href={formatHashRoute(to)}
          aria-label={t[name]}
          aria-current={activeFor.includes(route.type) ? "page" : undefined}
        >
          <Icon name={icon} />
          <span>{t[name]}</span>
        </a>
      ))}
    </nav>
  );
}

function AppMenu({
  onOpen,
  onToggleTheme,
}: {
  onOpen: (dialog: OpenDialog) => void;
  onToggleTheme: () => void;
}) {
  const app = useAppStore();
  const t = useMessages(appMessages);
  const session = useCell(app.session.state);
  const signOutItem = {
    label: t.signOut,
    icon: "key",
    run: () => void app.session.signOut(),
  } as const;
  return (
    <Menu
      label={t.more}
      items={[
        {
          label: t.palette,
          icon: "search",
          keys: "mod+k",
          run: () => onOpen("palette"),
        },
        { label: t.shortcuts, icon: "list", keys: "?", run: () => onOpen("shortcuts") },
        { label: t.toggleTheme, icon: "moon", run: onToggleTheme },
        {
          label: t.preferences,
          icon: "settings",
          keys: "mod+,",
          run: () => onOpen("preferences"),
        },
        ...(session.status === "open" && session.hasToken
          ? (["separator", signOutItem] as const)
          : []),
      ]}
    />
  );
}

/** Moves the focus without following the link, because the URL hash is the route. */
function skipToContent(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#content")?.focus();
}

/** A link of the main navigation. */
interface NavigationItem {
  readonly name: "chats" | "upstreams";
  readonly icon: IconName;
  readonly route: HashRoute;
  /** Routes on which the link is marked as current. */
  readonly activeFor: readonly HashRoute["type"][];
}

const navigationItems: readonly NavigationItem[] = [
  { name: "chats", icon: "quote", route: { type: "new" }, activeFor: ["new", "chat", "tree"] },
  { name: "upstreams", icon: "plug", route: { type: "upstreams" }, activeFor: ["upstreams"] },
];

const narrowQuery = "(max-width: 860px)";

/** Returns true if the chat list covers the content as a drawer. */
function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const mediaQuery = matchMedia(narrowQuery);
      mediaQuery.addEventListener("change", listener);
      return () => mediaQuery.removeEventListener("change", listener);
    },
    () => matchMedia(narrowQuery).matches,
    () => false,
  );
}
