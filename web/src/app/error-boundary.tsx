/** Catches what breaks while rendering, so that one page never takes the others with it. */

import { Component, type ReactNode } from "react";

import { ApiError } from "../api/error.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/state.tsx";
import { useText } from "./text.ts";

interface Props {
  readonly children: ReactNode;
  /** Another place is another try. */
  readonly place: string;
}

interface State {
  readonly error: unknown;
  readonly place: string;
}

/** Shows what broke, with a way to try again. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined, place: this.props.place };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error ?? new Error("unknown") };
  }

  static getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.place === state.place ? null : { error: undefined, place: props.place };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return <Broken error={this.state.error} onRetry={() => this.setState({ error: undefined })} />;
  }
}

function Broken({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }): ReactNode {
  const say = useText();
  const { message, requestId } = ApiError.from(error);
  return (
    <Empty icon="warning" title={say("broken")} text={say("brokenText")}>
      <code>{requestId === "" ? message : `${message} (${requestId})`}</code>
      <Button icon="retry" kind="primary" onClick={onRetry}>
        {say("reload")}
      </Button>
    </Empty>
  );
}
