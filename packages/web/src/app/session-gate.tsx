import { assertNever } from "@deltawire/tasks";
import { useState, type FormEvent } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Field, Input } from "../ui/field.tsx";
import { EmptyState, Spinner } from "../ui/indicators.tsx";
import type { SignInProblem } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { App } from "./app.tsx";
import { appMessages, type AppMessages } from "./messages.ts";

/** Renders the page once the session is open, or the sign-in form if the gateway requires a token. */
export function SessionGate() {
  const { session } = useAppStore();
  const state = useCell(session.state);
  const t = useMessages(appMessages);
  switch (state.status) {
    case "open":
      return <App />;
    case "needs_token":
      return <SignInForm />;
    case "checking":
      return (
        <main className="app-session-gate">
          <Spinner label={t.connectingToGateway} />
        </main>
      );
    case "unreachable":
      return (
        <main className="app-session-gate">
          <EmptyState title={t.unreachableTitle} text={t.unreachableText}>
            <Button kind="primary" onClick={() => void session.check()}>
              {t.tryAgain}
            </Button>
          </EmptyState>
        </main>
      );
    default:
      return assertNever(state);
  }
}

function SignInForm() {
  const { session } = useAppStore();
  const t = useMessages(appMessages);
  const [problem, setProblem] = useState<SignInProblem>();
  const [isBusy, setBusy] = useState(false);
  const onSubmit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    setBusy(true);
    setProblem(await session.signIn(typeof token === "string" ? token.trim() : ""));
    setBusy(false);
  };
  return (
    <main className="app-session-gate">
      <form className="app-sign-in" onSubmit={(event) => void onSubmit(event)}>
        <p className="app-product">Deltawire</p>
        <h1>{t.signInTitle}</h1>
        <p>{t.signInText}</p>
        <Field label={t.token} error={problem && formatSignInProblem(problem, t)}>
          <Input name="token" type="password" autoComplete="current-password" required />
        </Field>
        <Button kind="primary" type="submit" busy={isBusy}>
          {t.signIn}
        </Button>
      </form>
    </main>
  );
}

function formatSignInProblem(problem: SignInProblem, t: AppMessages): string {
  switch (problem.type) {
    case "wrong_token":
      return t.wrongToken;
    case "too_many_attempts":
      return t.tooManyAttempts(problem.seconds);
    case "unreachable":
      return t.gatewayUnreachable;
    case "other":
      return problem.message;
    default:
      return assertNever(problem);
  }
}
