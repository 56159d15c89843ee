package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waymark/gateway"
)

func (a *app) gatewayLogin() *cobra.Command {
	var client, secret string
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server that asks for OAuth",
		Long: `Prints a link to the authorization server of the server, waits up to five minutes until access is granted there, and
stores the tokens in logins.json of the data directory, readable only by you. Waymark registers itself unless --client-id
is given.`,
		Example: `  waymark gateway login linear
  waymark gateway login crm --client-id waymark --client-secret-variable CRM_CLIENT_SECRET`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.definedServer(args[0])
			if err != nil {
				return err
			}
			as := gateway.LoginClient{ID: client}
			if secret != "" {
				if as.Secret = os.Getenv(secret); as.Secret == "" || client == "" {
					return usagef("--client-secret-variable names a variable with a value, and needs --client-id")
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Minute)
			defer cancel()
			if err := a.logins().Login(ctx, d, gateway.Options{Version: version().Version, Logins: a.logins()}, as, func(link string) {
				fmt.Fprintf(a.errs, "open this link in a browser and grant access:\n%s\n", link)
			}); err != nil {
				return rejected{err}
			}
			return a.show(map[string]string{"logged_in": d.ID}, "", "")
		},
	}
	f := cmd.Flags()
	f.StringVar(&client, "client-id", "", "`id` of Waymark at the authorization server")
	f.StringVar(&secret, "client-secret-variable", "", "environment `variable` that holds the secret of the client")
	return cmd
}

func (a *app) gatewayLogout() *cobra.Command {
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Delete the tokens of a server",
		Long:  `Deletes the tokens that gateway login stored. They stay valid at the authorization server.`,
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := a.definedServer(args[0])
			if err != nil {
				return err
			}
			if err := a.logins().Forget(d.ID); err != nil {
				return err
			}
			return a.show(map[string]string{"logged_out": d.ID}, "", "")
		},
	}
}

func (a *app) definedServer(id string) (gateway.Definition, error) {
	_, defs, err := a.defined()
	if err != nil {
		return gateway.Definition{}, err
	}
	i := slices.IndexFunc(defs, func(d gateway.Definition) bool { return d.ID == id })
	if i < 0 {
		return gateway.Definition{}, fmt.Errorf("there is no server %q; waymark gateway list shows those there are", id)
	}
	return defs[i], nil
}

func (a *app) logins() *gateway.Logins {
	return gateway.OpenLogins(a.data, a.workspace)
}
